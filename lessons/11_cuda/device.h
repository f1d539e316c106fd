#pragma once
// For .cu files: memory on the device, and start(), which runs every kernel of this lesson.
#include <vector>

#include "lessons/11_cuda/impl.h"
#include "lessons/11_cuda/meter.h"
#include "lessons/11_cuda/todo.h"

namespace pg::lesson11 {

// n floats on the device, 0 unless values are given.
class OnDevice {
 public:
  explicit OnDevice(int64_t n) : OnDevice(Numbers(static_cast<size_t>(n))) {}
  explicit OnDevice(const Numbers& x) : size_(x.size()) {
    cuda::check(cudaMalloc(reinterpret_cast<void**>(&data_), size_ ? bytes() : 1), "cudaMalloc");
    cuda::check(cudaMemcpy(data_, x.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  float* data() const { return data_; }
  Numbers numbers() const {
    Numbers x(size_);
    cuda::check(cudaMemcpy(x.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return x;
  }

 private:
  size_t bytes() const { return size_ * sizeof(float); }
  float* data_ = nullptr;
  size_t size_;
};

// Calls `launch_all` and waits for its kernels. On a card, start() repeats the launches while a Meter measures.
template <class F>
void start(F launch_all) {
  launch_all();
  cuda::check(cudaDeviceSynchronize(), "the kernel");
  throw_todo();
  double* seconds = detail::timed_seconds();
  if (!seconds) return;
  constexpr int kRepeats = 20;
  cudaEvent_t begin, end;
  cuda::check(cudaEventCreate(&begin), "cudaEventCreate");
  cuda::check(cudaEventCreate(&end), "cudaEventCreate");
  cuda::check(cudaEventRecord(begin), "cudaEventRecord");
  for (int i = 0; i < kRepeats; ++i) launch_all();
  cuda::check(cudaEventRecord(end), "cudaEventRecord");
  cuda::check(cudaEventSynchronize(end), "the kernel");
  float milliseconds = 0;
  cuda::check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  *seconds += 1e-3 * static_cast<double>(milliseconds) / kRepeats;
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

}  // namespace pg::lesson11

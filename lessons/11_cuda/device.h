#pragma once
// For .cu files: TODO() in device code, memory on the device, and start(), which runs every kernel of this lesson.
#include <vector>

#include "lessons/11_cuda/impl.h"
#include "lessons/11_cuda/meter.h"
#include "lessons/kit/todo.h"
#include "tensor/cuda/runtime/launch.h"

namespace pg::lesson11 {

// TODO("11.k name") in device code. In the simulator a kernel may throw: the launch rethrows the exception of its
// thread. A GPU has no exceptions: the thread sets a flag and exits, and start() throws if the flag is set.
#if defined(__CUDACC__)
static __device__ int todo_reached = 0;

[[noreturn]] inline __host__ __device__ void TODO(const char* piece) {
#if defined(__CUDA_ARCH__)
  todo_reached = 1;
  asm volatile("exit;");
  __builtin_unreachable();
#else
  pg::TODO(piece);
#endif
}

// Throws Todo if a thread reached a TODO since the last call. Static, like todo_reached: each .cu file has its own.
static inline void throw_todo() {
  int reached = 0;
  cuda::check(cudaMemcpyFromSymbol(&reached, todo_reached, sizeof(reached)), "cudaMemcpyFromSymbol");
  if (!reached) return;
  const int none = 0;
  cuda::check(cudaMemcpyToSymbol(todo_reached, &none, sizeof(none)), "cudaMemcpyToSymbol");
  pg::TODO("a device function");
}
#else
inline void throw_todo() {}
#endif

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

  template <class T>  // float, or float4
  operator T*() const {
    return reinterpret_cast<T*>(data_);
  }
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

// Calls `launch_all` and waits for its kernels. On a GPU, start() repeats the launches while a Meter measures.
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

// Asynchronous copies to the host.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/stream.h"

namespace pg::cuda {
namespace {

class PinnedCopy : public AsyncCopy {
 public:
  explicit PinnedCopy(size_t bytes) {
    check(cudaMallocHost(&memory_, bytes), "cudaMallocHost");
    const cudaError_t status = cudaEventCreateWithFlags(&arrived_, cudaEventDisableTiming);
    if (status != cudaSuccess) cudaFreeHost(memory_);
    check(status, "cudaEventCreate");
  }
  ~PinnedCopy() override {
    cudaEventSynchronize(arrived_);  // the copy must not write into freed memory
    cudaEventDestroy(arrived_);
    cudaFreeHost(memory_);
  }
  PinnedCopy(const PinnedCopy&) = delete;

  void start(const void* from, size_t bytes) override {
    check(cudaMemcpyAsync(memory_, from, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
    check(cudaEventRecord(arrived_, stream()), "cudaEventRecord");
  }
  const void* wait() const override {
    check(cudaEventSynchronize(arrived_), "cudaEventSynchronize");
    return memory_;
  }

 private:
  void* memory_ = nullptr;  // page-locked: the device copies into it without help from the host
  cudaEvent_t arrived_ = nullptr;
};

}  // namespace

std::unique_ptr<AsyncCopy> async_copy(size_t bytes) { return std::make_unique<PinnedCopy>(bytes); }

}  // namespace pg::cuda

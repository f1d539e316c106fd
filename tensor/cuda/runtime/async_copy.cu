// Copies to the CPU that nobody waits for at once.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/stream.h"

namespace pg::cuda {

struct Readback::Arrival {
  void* memory = nullptr;  // page-locked: the copy into it needs no help of the host
  cudaEvent_t event = nullptr;
  ~Arrival() {
    if (event) cudaEventDestroy(event);
    if (memory) cudaFreeHost(memory);
  }
};

Readback::Readback(size_t bytes) : arrival_(std::make_unique<Arrival>()) {
  check(cudaMallocHost(&arrival_->memory, bytes), "cudaMallocHost");
  check(cudaEventCreateWithFlags(&arrival_->event, cudaEventDisableTiming), "cudaEventCreate");
}
Readback::~Readback() {
  if (arrival_) cudaEventSynchronize(arrival_->event);  // the copy must not arrive in freed memory
}

void Readback::start(const void* from, size_t bytes) {
  check(cudaMemcpyAsync(arrival_->memory, from, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
  check(cudaEventRecord(arrival_->event, stream()), "cudaEventRecord");
}

const void* Readback::wait() const {
  check(cudaEventSynchronize(arrival_->event), "cudaEventSynchronize");
  return arrival_->memory;
}

}  // namespace pg::cuda

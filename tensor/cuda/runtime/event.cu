// Times on the device's own clock.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/stream.h"

namespace pg::cuda {

Moment::Moment() {
  cudaEvent_t event;
  check(cudaEventCreate(&event), "cudaEventCreate");
  event_ = std::shared_ptr<void>(event, [](void* owned) { cudaEventDestroy(static_cast<cudaEvent_t>(owned)); });
  check(cudaEventRecord(event, stream()), "cudaEventRecord");
}

double seconds_between(const Moment& from, const Moment& to) {
  const auto begin = static_cast<cudaEvent_t>(from.event_.get()), end = static_cast<cudaEvent_t>(to.event_.get());
  check(cudaEventSynchronize(end), "cudaEventSynchronize");
  float milliseconds;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace pg::cuda

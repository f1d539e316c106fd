// CUDA events, to measure time with the device's clock.
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/stream.h"

namespace pg::cuda {
namespace {

class Event : public DeviceEvent {
 public:
  Event() {
    check(cudaEventCreate(&event_), "cudaEventCreate");
    check(cudaEventRecord(event_, stream()), "cudaEventRecord");
  }
  ~Event() override { cudaEventDestroy(event_); }
  Event(const Event&) = delete;

  double seconds_until(const DeviceEvent& later) const override {
    const cudaEvent_t end = static_cast<const Event&>(later).event_;
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, event_, end), "cudaEventElapsedTime");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_;
};

}  // namespace

std::unique_ptr<DeviceEvent> record_event() { return std::make_unique<Event>(); }

}  // namespace pg::cuda

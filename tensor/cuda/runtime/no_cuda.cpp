// The CUDA backend of a build without CUDA.
#include "tensor/base/error.h"
#include "tensor/cuda/runtime/cuda_backend.h"

namespace pg {
namespace {

std::string why_none() {
  return "this build has no CUDA; make CUDA=1 builds for a GPU, make CUDA=sim for the simulator";
}
[[noreturn]] void none() { fail("cuda: {}", why_none()); }

}  // namespace

const Backend& cuda_backend() {
  static constexpr Backend absent = {
      .kernels = []() -> const Kernels& { none(); },
      .device_count = [] { return 0; },
      .why_none = why_none,
      .device_info = [](int) -> DeviceInfo { none(); },
      .allocate = [](size_t, int) -> void* { none(); },
      .release = [](void*, int) { none(); },
      .copy = [](void*, Device, const void*, Device, size_t) { none(); },
      .synchronize = [] {},
      .exact = [] { return true; },
      .set_exact = [](bool) {},
      .record = [](const std::function<void()>&) -> std::unique_ptr<RecordedWork> { none(); },
      .async_copy = [](size_t) -> std::unique_ptr<AsyncCopy> { none(); },
      .record_event = []() -> std::unique_ptr<DeviceEvent> { none(); },
  };
  return absent;
}

}  // namespace pg

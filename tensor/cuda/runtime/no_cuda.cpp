// The CUDA backend of a build without CUDA.
#include "tensor/backend.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

std::string why_none() {
  return "this build has no CUDA; make CUDA=1 builds for a GPU, make CUDA=sim for the simulator";
}
[[noreturn]] void unavailable() { fail("cuda: {}", why_none()); }

}  // namespace

const Backend& cuda_backend() {
  static constexpr Backend absent = {
      .kernels = [](int) -> const Kernels& { unavailable(); },
      .device_count = [] { return 0; },
      .why_none = why_none,
      .device_info = [](int) -> DeviceInfo { unavailable(); },
      .memory = [](int) -> DeviceMemory { unavailable(); },
      .allocate = [](size_t, int) -> void* { unavailable(); },
      .release = [](void*, int) { unavailable(); },
      .copy = [](void*, Device, const void*, Device, size_t) { unavailable(); },
      .synchronize = [] {},
      .exact = [] { return true; },
      .set_exact = [](bool) {},
      .last_matmul = [] { return std::string(); },
      .records = [] { return false; },
      .record = [](const std::function<void()>&) -> std::unique_ptr<RecordedWork> { unavailable(); },
      .async_copy = [](size_t) -> std::unique_ptr<AsyncCopy> { unavailable(); },
      .record_event = []() -> std::unique_ptr<DeviceEvent> { unavailable(); },
  };
  return absent;
}

}  // namespace pg

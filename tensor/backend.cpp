// The CPU's backend, and the functions shared by all backends.
#include "tensor/backend.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr size_t kHuge = size_t{2} << 20;  // a huge page

// Blocks of at least one huge page are aligned to huge pages, which are requested from the system.
void* allocate_host(size_t bytes, int) {
  if (bytes < kHuge) return std::aligned_alloc(64, bytes);
  void* data = std::aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge);
#ifdef MADV_HUGEPAGE
  if (data) madvise(data, bytes, MADV_HUGEPAGE);
#endif
  return data;
}

[[noreturn]] void nothing_launched() { fail("cpu: work cannot be recorded: kernels run immediately"); }

}  // namespace

const Backend& backend(Device::Kind kind) {
  static constexpr Backend cpu = {
      .kernels = cpu_kernels,
      .device_count = [] { return 1; },
      .why_none = [] { return std::string(); },
      .device_info =
          [](int) {
            return DeviceInfo{"CPU", 0, 0, false};
          },
      .allocate = allocate_host,
      .release = [](void* data, int) { std::free(data); },
      .copy = [](void* to, Device, const void* from, Device, size_t bytes) { std::memcpy(to, from, bytes); },
      .synchronize = [] {},
      .exact = [] { return true; },
      .set_exact = [](bool) {},
      .record = [](const std::function<void()>&) -> std::unique_ptr<RecordedWork> { nothing_launched(); },
      .async_copy = [](size_t) -> std::unique_ptr<AsyncCopy> { nothing_launched(); },
      .record_event = []() -> std::unique_ptr<DeviceEvent> { nothing_launched(); },
  };
  return kind == Device::Kind::cpu ? cpu : cuda_backend();
}

Graph::Graph(Device device, const std::function<void()>& work) : pool_(device) {
  const PrivatePool::Use use(pool_);
  recorded_ = backend(device).record(work);
}

}  // namespace pg

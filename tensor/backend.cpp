// The CPU's backend, the functions shared by all backends, and the names of devices.
#include "tensor/backend.h"

#include <sys/mman.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

#include "tensor/base/error.h"
#include "tensor/kernels.h"

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

DeviceMemory host_memory(int) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return {static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * page, static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page};
}

[[noreturn]] void nothing_launched() { fail("cpu: work cannot be recorded: kernels run immediately"); }

}  // namespace

const Backend& backend(Device::Kind kind) {
  static constexpr Backend cpu = {
      .kernels = [](int) -> const Kernels& { return cpu_kernels(); },
      .device_count = [] { return 1; },
      .why_none = [] { return std::string(); },
      .device_info =
          [](int) {
            return DeviceInfo{"CPU", 0, 0, false};
          },
      .memory = host_memory,
      .allocate = allocate_host,
      .release = [](void* data, int) { std::free(data); },
      .copy = [](void* to, Device, const void* from, Device, size_t bytes) { std::memcpy(to, from, bytes); },
      .synchronize = [] {},
      .exact = [] { return true; },
      .set_exact = [](bool) {},
      .last_matmul = [] { return std::string(); },
      .records = [] { return false; },
      .record = [](const std::function<void()>&) -> std::unique_ptr<RecordedWork> { nothing_launched(); },
      .async_copy = [](size_t) -> std::unique_ptr<AsyncCopy> { nothing_launched(); },
      .record_event = []() -> std::unique_ptr<DeviceEvent> { nothing_launched(); },
  };
  static constexpr Backend plain = [] {
    Backend of_host = cpu;
    of_host.kernels = [](int) -> const Kernels& { return plain_kernels(); };
    return of_host;
  }();
  return kind == Device::Kind::cuda ? cuda_backend() : kind == Device::Kind::plain ? plain : cpu;
}

const Kernels& kernels(Device device) {
  if (!device.on_host()) return backend(device).kernels(device.index);
  return host_kernels(device.kind == Device::Kind::plain);
}

namespace {

// The device with this name, whether or not it exists.
Device named_device(std::string_view text) {
  if (text == "cpu") return {};
  if (text == "plain") return {Device::Kind::plain};
  const std::string_view kind = text.substr(0, text.find(':'));
  int index = 0;
  bool known = kind == "cuda";
  if (known && kind.size() < text.size()) {
    const std::string_view digits = text.substr(kind.size() + 1);
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, index);
    known = error == std::errc() && stop == end && index >= 0 && index < 256;
  }
  check(known, "device: expected \"cpu\", \"plain\", \"cuda\" or \"cuda:1\", got \"{}\"", text);
  return {Device::Kind::cuda, static_cast<unsigned char>(index)};
}

}  // namespace

Device::Kind parse_device_kind(std::string_view text) { return named_device(text).kind; }

Device parse_device(std::string_view text) {
  const Device device = named_device(text);
  if (device.on_host()) return device;
  const int count = backend(Device::Kind::cuda).device_count();
  check(count > 0, "device: \"{}\" was requested, but {}", text, backend(Device::Kind::cuda).why_none());
  check(device.index < count, "device: \"{}\" was requested, but the last one here is \"cuda:{}\"", text, count - 1);
  return device;
}

std::string to_string(Device device) {
  if (device.kind == Device::Kind::plain) return "plain";
  return device.on_host() ? "cpu" : fmt::format("cuda:{}", device.index);
}

}  // namespace pg

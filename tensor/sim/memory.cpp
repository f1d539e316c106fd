// The simulated device's memory.
#include "tensor/sim/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "tensor/base/error.h"
#include "tensor/sim/arena.h"
#include "tensor/sim/sim.h"

namespace pg::sim {

namespace {

constexpr size_t kAlignment = 256;  // what cudaMalloc guarantees

struct Registry {
  std::shared_mutex mutex;
  std::map<uintptr_t, Allocation> live;
  std::map<uintptr_t, Allocation> freed;  // the latest, for messages
  uint64_t count = 0;
  std::array<size_t, kDevices> device_bytes{};
};

Registry& registry() {
  static auto* all = new Registry;  // never destroyed: memory may be freed at exit
  return *all;
}

// The size with unused bytes after the allocation, so that an access past its end is not in the next allocation.
// AddressSanitizer adds its own, and must see the true size.
size_t padded(size_t bytes) {
  if (!sees_accesses()) return bytes;
  return (bytes + 2 * kAlignment - 1) / kAlignment * kAlignment;
}

constexpr size_t kNoLimit = SIZE_MAX;

size_t limit_of_environment() {
  const char* text = std::getenv("POLICYGRAD_SIM_MEMORY");
  if (!text) return kNoLimit;
  size_t bytes = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, bytes);
  check(error == std::errc() && stop == end, "POLICYGRAD_SIM_MEMORY: expected a number of bytes, got \"{}\"", text);
  return bytes;
}
std::atomic<size_t> limit{kNoLimit};  // of the innermost DeviceLimit

}  // namespace

DeviceLimit::DeviceLimit(size_t bytes) : before_(limit.exchange(bytes)) {}
DeviceLimit::~DeviceLimit() { limit = before_; }

size_t device_bytes() {
  static const size_t whole = std::min(limit_of_environment(), static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
                                                                   static_cast<size_t>(sysconf(_SC_PAGESIZE)));
  return std::min(limit.load(), whole);
}

void* allocate(size_t bytes, MemoryKind kind, int device) {
  void* memory = nullptr;
  auto& all = registry();
  std::lock_guard lock(all.mutex);
  size_t& on_device = all.device_bytes[static_cast<size_t>(device)];
  const size_t total = device_bytes(), used = kind == MemoryKind::device ? std::min(on_device, total) : 0;
  if (bytes > total - used) return nullptr;
  if (kind == MemoryKind::device && protects_memory()) {
    memory = arena_allocate(padded(bytes));
    if (!memory) return nullptr;
  } else if (posix_memalign(&memory, kAlignment, padded(bytes)) != 0) {
    return nullptr;
  }
  {
    const OpenArena open;
    std::memset(memory, 0xff, bytes);
  }
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  all.live[begin] = {begin, bytes, ++all.count, kind, device};
  if (kind == MemoryKind::device) on_device += bytes;
  std::erase_if(all.freed, [&](const auto& entry) {
    const Allocation& old = entry.second;
    return old.begin < begin + bytes + kAlignment && begin < old.begin + old.size + kAlignment;
  });
  return memory;
}

void release(void* memory, MemoryKind kind) {
  const bool device = kind == MemoryKind::device;
  auto& all = registry();
  {
    std::lock_guard lock(all.mutex);
    const auto it = all.live.find(reinterpret_cast<uintptr_t>(memory));
    check(it != all.live.end() && it->second.kind == kind,
          "{}: expected a pointer that {} returned and that is not freed yet, got {}",
          device ? "cudaFree" : "cudaFreeHost", device ? "cudaMalloc" : "cudaMallocHost", fmt::ptr(memory));
    if (device) all.device_bytes[static_cast<size_t>(it->second.device)] -= it->second.size;
    if (all.freed.size() >= 1000) all.freed.clear();
    all.freed[it->first] = it->second;
    all.live.erase(it);
  }
  in_arena(memory) ? arena_release(memory) : std::free(memory);
}

Allocation find_allocation(uintptr_t address) {
  auto& all = registry();
  std::shared_lock lock(all.mutex);
  auto it = all.live.upper_bound(address);
  if (it == all.live.begin()) return {};
  --it;
  return it->second.contains(address, 0) ? it->second : Allocation{};
}

size_t allocated_bytes(int device) {
  auto& all = registry();
  std::shared_lock lock(all.mutex);
  return all.device_bytes[static_cast<size_t>(device)];
}

std::string describe_address(uintptr_t address) {
  auto& all = registry();
  std::shared_lock lock(all.mutex);
  const auto before = [address](const std::map<uintptr_t, Allocation>& map) {
    auto it = map.upper_bound(address);
    return it == map.begin() ? Allocation{} : std::prev(it)->second;
  };
  const auto freed = before(all.freed);
  if (freed.contains(address, 0))
    return fmt::format("an address in a device allocation of {} bytes that was freed", freed.size);
  // An address within 4096 bytes of an allocation was most likely meant for it.
  const Allocation left = before(all.live);
  const auto next = all.live.upper_bound(address);
  const Allocation right = next == all.live.end() ? Allocation{} : next->second;
  const uintptr_t past = address - (left.begin + left.size), ahead = right.begin - address;
  const bool near_left = left.size && past < left.size + 4096, near_right = right.size && ahead < right.size + 4096;
  if (near_left && (!near_right || past < ahead))
    return fmt::format("an address {} bytes past the end of a device allocation of {} bytes", past, left.size);
  if (near_right)
    return fmt::format("an address {} bytes before the start of a device allocation of {} bytes", ahead, right.size);
  return fmt::format("address {:#x}, which is in no device allocation (is it host memory?)", address);
}

void require_allocated(const char* operation, const void* pointer, size_t bytes) {
  if (bytes == 0) return;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const auto found = find_allocation(address);
  if (found.size == 0) fail("{}: expected device memory, got {}", operation, describe_address(address));
  check(found.contains(address, bytes),
        "{}: {} bytes at byte {} do not fit into the device allocation of {} bytes; sizes are in bytes, not in "
        "elements",
        operation, bytes, address - found.begin, found.size);
}

}  // namespace pg::sim

// Page-locked host memory that operations have read and that the host has not waited for yet.
#include "tensor/sim/pinned.h"

#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/sim/memory.h"

namespace pg::sim {

namespace {

struct PinnedRead {
  uintptr_t begin, end;
  size_t content;  // a hash
  std::string name;
  int stream;
  uint64_t tick;
};

struct Followed {
  std::mutex mutex;
  std::vector<PinnedRead> reads;
  void drop(uintptr_t begin, uintptr_t end) {
    std::erase_if(reads, [=](const PinnedRead& read) { return begin < read.end && read.begin < end; });
  }
};
Followed& followed() {
  static auto* all = new Followed;  // may be used by destructors at exit
  return *all;
}

size_t content_of(uintptr_t begin, uintptr_t end) {
  return std::hash<std::string_view>()({reinterpret_cast<const char*>(begin), end - begin});
}

}  // namespace

void follow_pinned_memory(const Uses& uses, const std::string& name, int stream, const Clock& now) {
  auto& all = followed();
  std::lock_guard lock(all.mutex);
  for (auto it = uses.rbegin(); it != uses.rend(); ++it) {  // writes of an allocation before reads
    const Use& use = it->second;
    if (find_allocation(use.begin).kind != MemoryKind::pinned) continue;
    if (use.write) {  // by a device: check_order has compared it with the reads
      all.drop(use.begin, use.end);
    } else {
      all.reads.push_back({use.begin, use.end, content_of(use.begin, use.end), name, stream, now.of(stream)});
    }
  }
}

void check_pinned_memory(const Clock& host) {
  auto& all = followed();
  std::lock_guard lock(all.mutex);
  PinnedRead error{};
  std::erase_if(all.reads, [&](const PinnedRead& read) {
    if (host.of(read.stream) < read.tick) return false;
    if (content_of(read.begin, read.end) != read.content) error = read;
    return true;
  });
  if (error.name.empty()) return;
  const Allocation memory = find_allocation(error.begin);
  fail(
      "{} on stream {} reads bytes {} to {} of a page-locked allocation of {} bytes, and the host changed them before "
      "it waited for that: call cudaEventRecord after the copy and cudaEventSynchronize before the change",
      error.name, error.stream, error.begin - memory.begin, error.end - memory.begin, memory.size);
}

void forget_pinned_memory(uintptr_t begin, size_t bytes) {
  auto& all = followed();
  std::lock_guard lock(all.mutex);
  all.drop(begin, begin + bytes);
}

}  // namespace pg::sim

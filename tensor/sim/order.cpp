// The order of operations in streams: clocks, and the past uses of memory.
#include "tensor/sim/order.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "tensor/base/error.h"
#include "tensor/sim/memory.h"

namespace pg::sim {

namespace {

struct Past {
  Use use;
  std::string name;
  int stream;
  uint64_t tick;
};

// Uses of each allocation, by its number. Numbers are not reused, so entries of freed allocations do no harm.
struct History {
  std::mutex mutex;
  std::map<uint64_t, std::vector<Past>> past;
  Uses running;
};
History& history() {
  static History all;
  return all;
}
constexpr size_t kKept = 64;  // uses per allocation

}  // namespace

void Clock::join(const Clock& other) {
  for (const auto& [stream, tick] : other.ticks_) ticks_[stream] = std::max(ticks_[stream], tick);
}

uint64_t Clock::of(int stream) const {
  const auto it = ticks_.find(stream);
  return it == ticks_.end() ? 0 : it->second;
}

Clock Clock::renamed(const std::map<int, int>& names, uint64_t offset) const {
  Clock out;
  for (const auto& [stream, tick] : ticks_) out.ticks_[names.at(stream)] = tick + offset;
  return out;
}

void add_use(Uses* uses, uint64_t allocation, const Use& use) {
  const auto [it, fresh] = uses->insert({{allocation, use.write}, use});
  if (fresh) return;
  it->second.begin = std::min(it->second.begin, use.begin);
  it->second.end = std::max(it->second.end, use.end);
}

void add_uses_of_running_work(const Uses& uses) {
  auto& all = history();
  std::lock_guard lock(all.mutex);
  for (const auto& [key, use] : uses) add_use(&all.running, key.first, use);
}

Uses take_uses_of_running_work() {
  auto& all = history();
  std::lock_guard lock(all.mutex);
  return std::exchange(all.running, {});
}

void check_order(const Uses& uses, const std::string& name, int stream, const Clock& now) {
  auto& all = history();
  std::lock_guard lock(all.mutex);
  for (const auto& [key, use] : uses) {
    auto& past = all.past[key.first];
    for (const Past& p : past) {
      const bool overlap = p.use.begin < use.end && use.begin < p.use.end;
      if (!overlap || !(p.use.write || use.write) || now.of(p.stream) >= p.tick) continue;
      const Allocation memory = find_allocation(use.begin);
      fail(
          "{} on stream {} {} bytes {} to {} of a device allocation of {} bytes, and {} on stream {} {} bytes {} to "
          "{}; the two are not ordered: call cudaEventRecord after the first and cudaStreamWaitEvent before the second",
          name, stream, use.write ? "writes" : "reads", use.begin - memory.begin, use.end - memory.begin, memory.size,
          p.name, p.stream, p.use.write ? "writes" : "reads", p.use.begin - memory.begin, p.use.end - memory.begin);
    }
    // Earlier uses of the stream and kind that this use covers need not be kept.
    std::erase_if(past, [stream, &u = use](const Past& p) {
      return p.stream == stream && p.use.write == u.write && u.begin <= p.use.begin && p.use.end <= u.end;
    });
    if (past.size() >= kKept) past.erase(past.begin());
    past.push_back({use, name, stream, now.of(stream)});
  }
}

}  // namespace pg::sim

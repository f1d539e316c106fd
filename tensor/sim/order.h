#pragma once
// Finds work of two streams that uses the same memory, one writing, with no event or synchronisation between. It would
// go unnoticed here, where streams run one after the other, and be a race on a GPU.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pg::sim {

// For each stream, by number, how many of its pieces of work are known to be finished before something begins.
class Clock {
 public:
  void join(const Clock& other);
  uint64_t of(int stream) const;
  void tick(int stream) { ++ticks_[stream]; }
  // The same knowledge about other streams: renamed by `names`, with `offset` more ticks each.
  Clock renamed(const std::map<int, int>& names, uint64_t offset) const;

 private:
  std::map<int, uint64_t> ticks_;
};

// Bytes [begin, end) of one allocation, from the lowest to the highest that a piece of work read, or wrote.
struct Use {
  uintptr_t begin, end;
  bool write;
};
using Uses = std::map<std::pair<uint64_t, bool>, Use>;  // by number of the allocation, and reads before writes

// Adds a range to `uses`.
void add_use(Uses* uses, uint64_t allocation, const Use& use);
// What the work that runs now has used so far; several threads may add to it.
void add_uses_of_running_work(const Uses& uses);
Uses take_uses_of_running_work();

// Compares what a piece of work has used with what streams did that it does not come after, and remembers it.
// Throws pg::Error. `now` is the clock of the work's stream, with the work itself as its latest tick.
void check_order(const Uses& uses, const std::string& name, int stream, const Clock& now);

}  // namespace pg::sim

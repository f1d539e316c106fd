#pragma once
// Finds operations of two streams that use the same memory, at least one of them writing, with no event or
// synchronisation between them. On a GPU this is a race; in the simulator, where streams run one after the other, it
// would go unnoticed.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pg::sim {

// For each stream, by number: how many of its operations are known to be finished before a given operation begins.
class Clock {
 public:
  void join(const Clock& other);
  uint64_t of(int stream) const;
  void tick(int stream) { ++ticks_[stream]; }
  // A copy with streams renamed by `names`, and with `offset` added to every tick.
  Clock renamed(const std::map<int, int>& names, uint64_t offset) const;

 private:
  std::map<int, uint64_t> ticks_;
};

// Bytes [begin, end) of one allocation, from the lowest to the highest that an operation read, or wrote.
struct Use {
  uintptr_t begin, end;
  bool write;
};
using Uses = std::map<std::pair<uint64_t, bool>, Use>;  // by number of the allocation and by Use::write

// Adds a range to `uses`.
void add_use(Uses* uses, uint64_t allocation, const Use& use);
// The uses of the running operation so far; several threads may add to them.
void add_uses_of_running_work(const Uses& uses);
Uses take_uses_of_running_work();

// Compares the uses of an operation with the earlier uses that it is not ordered after, and records them. Throws
// pg::Error on a conflict. `now` is the clock of the operation's stream, with the operation itself as its latest tick.
void check_order(const Uses& uses, const std::string& name, int stream, const Clock& now);

}  // namespace pg::sim

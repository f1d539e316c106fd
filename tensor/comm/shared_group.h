#pragma once
// The memory that the ranks of one machine share, and how they wait for each other.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tensor/comm/comm.h"

namespace pg {

inline constexpr int kMostRanks = 64;

// Every member is plain memory or an atomic without a lock, and none is a pointer.
class SharedGroup {
 public:
  // Maps the memory: for processes that are forked later, or with `file` for others of the same user (on Linux). It
  // becomes a file without a name, which attach() needs until all have the memory. Error if the system has too little.
  static SharedGroup* create(int ranks, double timeout, double longest, int* file = nullptr);
  // Maps the memory that process `pid` of this machine has in its file. Error if it has no group of so many ranks
  // there.
  static SharedGroup* attach(int pid, int file, int ranks);
  void destroy();  // of this process

  int ranks() const { return ranks_; }
  // The process of a rank, which tells whether the rank does anything.
  void set_process(int rank, int pid) { members_[rank].pid.store(pid, std::memory_order_relaxed); }

  // Announces the call of a collective and waits for those of the others. Error if they differ.
  void begin(int rank, const CollectiveCall& call);
  // Returns once all ranks have called it as often as this one.
  void step(int rank, const CollectiveCall& call);

  // Ends the work of the group: all waiting ranks throw an Error with the reason. Returns the reason, which is that of
  // the first call.
  std::string give_up(const std::string& reason);
  // Rank `rank` has left its work; whoever waits for it gives up.
  void set_left(int rank) { members_[rank].left.store(1, std::memory_order_release); }
  // What a rank says of the exception that ended it.
  void set_sentence(int rank, const std::string& sentence);
  std::string sentence(int rank) const { return members_[rank].sentence; }

  // Memory for the elements that a rank offers to the others, kPieceBytes for each rank in each of two turns: an area
  // may be written again two steps later.
  static constexpr int64_t kPieceBytes = 256 << 10;
  char* piece(int owner, int reader, int turn) const;

 private:
  struct alignas(128) Member {
    std::atomic<uint32_t> steps{0};
    std::atomic<uint32_t> left{0};
    std::atomic<int> pid{0};
    uint64_t calls = 0;
    CollectiveCall call[2];  // of the last two calls: a rank may be one ahead of another that still compares
    char sentence[480] = {};
  };

  SharedGroup(int ranks, double timeout, double longest, bool forks);
  static size_t bytes(int ranks);
  bool gave_up() const { return failure_.load(std::memory_order_acquire) == 2; }
  // "", or why the other rank does not come.
  std::string wait_for(int other, uint32_t steps);

  int ranks_;
  double timeout_, longest_;          // RanksOptions
  int spins_;                         // polls before a rank sleeps
  bool forks_;                        // a process that started the ranks says that one has left, and why
  std::atomic<uint32_t> failure_{0};  // 1: reason_ is being written, 2: it is written
  char reason_[480] = {};
  Member members_[kMostRanks];
};

// The Comm of a rank. The group must outlive it, unless the Comm owns it: then the end of the Comm tells the other
// ranks that this one has left, and destroys the memory of this process.
std::unique_ptr<Comm> shared_memory_rank(SharedGroup& group, int rank, bool owns = false);

}  // namespace pg

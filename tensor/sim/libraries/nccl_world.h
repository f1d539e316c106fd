#pragma once
// What the ranks of the simulated NCCL share: a file that all of them map, whether they are threads or processes.
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace pg::sim {

// What all ranks must agree on in one collective.
struct WorldCall {
  int kind = 0, type = 0, root = 0;
  uint64_t count = 0;
  bool operator==(const WorldCall&) const = default;
};

class World {
 public:
  static constexpr int kMostRanks = 8;

  // The path of the file of a new group.
  static std::string new_path();
  // Maps the file of a group, which the first rank makes. Error if the system has no room.
  explicit World(const std::string& path);
  ~World();
  World(const World&) = delete;

  void join(int rank);
  // Whether ranks 0 to ranks - 1 have joined. The file has no name from then on.
  bool complete(int ranks);
  void abort();
  bool aborted() const;

  // Publishes the calls of a rank in round `round`, which counts from 1, and the bytes that it sends in each. A rank
  // may only do so once it has read the results of the round before. Error if there are too many calls or bytes.
  void post(int rank, uint64_t round, const std::vector<WorldCall>& calls, const std::vector<std::vector<char>>& sent);
  // Whether all ranks have published this round, with equal calls.
  bool agreed(int ranks, uint64_t round) const;
  // What a rank sends in its call number `call` of an agreed round.
  const char* sent(int rank, uint64_t round, size_t call) const;

 private:
  static constexpr size_t kMostCalls = 64;
  static constexpr size_t kMostBytes = size_t{256} << 20;  // that a rank sends in a round

  // Rounds take turns in two slots: a rank that publishes one has read the results of the one before, for which all
  // ranks had read those of the one before that.
  struct Slot {
    std::atomic<uint64_t> round{0};
    size_t calls = 0;
    WorldCall call[kMostCalls];
    size_t begin[kMostCalls];  // of the bytes
  };
  struct Member {
    std::atomic<int> joined{0};
    Slot slots[2];
  };
  struct Shared {
    std::atomic<int> aborted{0};
    Member members[kMostRanks];
  };
  static size_t header_bytes();
  static size_t file_bytes();
  const Slot& slot(int rank, uint64_t round) const { return shared_->members[rank].slots[round % 2]; }
  char* bytes_of(int rank, uint64_t round) const;

  std::string path_;
  Shared* shared_ = nullptr;
};

}  // namespace pg::sim

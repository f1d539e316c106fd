#pragma once
// A ring of processes, over sockets between neighbours.
#include <cstdint>
#include <vector>

#include "tensor/comm/ring.h"

namespace pg::milestones {

// The sockets of a ring, made before the processes are: link r joins rank r with its right neighbour.
class RingLinks {
 public:
  // Error if the system gives no sockets.
  explicit RingLinks(int ranks);
  ~RingLinks();
  RingLinks(const RingLinks&) = delete;
  int ranks() const { return static_cast<int>(right_.size()); }
  int right_of(int rank) const { return right_[static_cast<size_t>(rank)]; }
  int left_of(int rank) const { return left_[static_cast<size_t>((rank + ranks() - 1) % ranks())]; }

 private:
  std::vector<int> right_, left_;  // both ends of each link
};

// One rank's place. A call that waits for ten seconds throws an Error, and so does one that gets another number of
// elements than it expects.
class ProcessRing : public Ring {
 public:
  ProcessRing(const RingLinks& links, int rank) : links_(links), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return links_.ranks(); }
  void send(std::span<const float> x) override;
  void receive(std::span<float> x) override;
  int64_t sent = 0;  // elements

 private:
  const RingLinks& links_;
  int rank_;
};

}  // namespace pg::milestones

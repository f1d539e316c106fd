#pragma once
// All-reduce in a ring (Patarasuk & Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations"):
// every rank sends only to the next one, and n ranks need 2·(n - 1) steps, in each of which a rank sends 1/n of the
// elements. So it sends 2·(n - 1)/n of them, and no algorithm can do with less.
#include <functional>
#include <span>

namespace pg {

// The links of one rank with its two neighbours. The right neighbour of the last rank is rank 0.
class Ring {
 public:
  virtual ~Ring() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Sends to the right neighbour, and returns once that rank has received. So ranks that all send first wait for ever.
  virtual void send(std::span<const float> x) = 0;
  // Receives from the left neighbour, which must send as many elements: otherwise both throw an Error.
  virtual void receive(std::span<float> x) = 0;
};

// Chunk c of x is shard_of(x.size(), c, n) (tensor/comm/comm.h), for n = ring.size() ranks.
//
// Reduce phase, step s = 0 … n - 2: rank r sends chunk (r - s) mod n and adds what it receives to chunk (r - s - 1)
// mod n. Afterwards chunk (r + 1) mod n of rank r is the sum of all ranks.
void ring_reduce_step(Ring& ring, std::span<float> x, int step);
// Gather phase, step s = 0 … n - 2: rank r sends chunk (r + 1 - s) mod n and stores what it receives in chunk
// (r - s) mod n. Afterwards every rank has all chunks of the sum.
void ring_gather_step(Ring& ring, std::span<float> x, int step);
// x becomes the sum of all ranks' x, with the same bits on every rank. Chunk c is added up in the order of the ranks
// c, c + 1, …, so the bits differ from those of Comm::all_reduce, which begins every sum with rank 0.
void ring_all_reduce(Ring& ring, std::span<float> x);

// Runs `work` in `ranks` new threads, each with its place in the ring, and returns once all have ended. The first
// exception of a rank is thrown again here; the ranks that wait then, or later, throw an Error.
//
// A rank that has waited for `timeout` seconds looks whom it waits for. If that rank waits too, and so on around the
// ring, it throws an Error that names the rank, the step (how many messages it has sent or received before) and "both
// wait: deadlock". It also gives up if the neighbour has ended, and after ten times as long for one that computes.
// Error if ranks is not from 1 to 64.
void run_ring(int ranks, const std::function<void(Ring&)>& work, double timeout = 1);

}  // namespace pg

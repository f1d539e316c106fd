#include "tensor/comm/ring.h"

#include <vector>

#include "tensor/comm/comm.h"

namespace pg {
namespace {

// Chunk `index` modulo the number of ranks; index is at least -n.
std::span<float> chunk(const Ring& ring, std::span<float> x, int index) {
  const int n = ring.size();
  const Shard shard = shard_of(std::ssize(x), (index + n) % n, n);  // in C++ -1 % n is -1
  return x.subspan(static_cast<size_t>(shard.begin), static_cast<size_t>(shard.size()));
}

// Even ranks send first, odd ranks receive first: so there is always a rank that receives.
void exchange(Ring& ring, std::span<const float> sent, std::span<float> received) {
  if (ring.rank() % 2 == 0) {
    ring.send(sent);
    ring.receive(received);
  } else {
    ring.receive(received);
    ring.send(sent);
  }
}

}  // namespace

void ring_reduce_step(Ring& ring, std::span<float> x, int step) {
  const std::span<float> sum = chunk(ring, x, ring.rank() - step - 1);
  std::vector<float> received(sum.size());
  exchange(ring, chunk(ring, x, ring.rank() - step), received);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += received[i];
}

void ring_gather_step(Ring& ring, std::span<float> x, int step) {
  exchange(ring, chunk(ring, x, ring.rank() + 1 - step), chunk(ring, x, ring.rank() - step));
}

void ring_all_reduce(Ring& ring, std::span<float> x) {
  for (int step = 0; step < ring.size() - 1; ++step) ring_reduce_step(ring, x, step);
  for (int step = 0; step < ring.size() - 1; ++step) ring_gather_step(ring, x, step);
}

}  // namespace pg

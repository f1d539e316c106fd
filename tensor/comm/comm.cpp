// What all implementations of Comm share, and the group of one rank.
#include "tensor/comm/comm.h"

#include <algorithm>

#include "tensor/base/error.h"

namespace pg {
namespace {

struct SingleRank : Comm {
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(const Tensor& x) override { check_collective("all_reduce", x); }
  void reduce_scatter(const Tensor& x) override { check_collective("reduce_scatter", x); }
  void all_gather(const Tensor& x) override { check_collective("all_gather", x); }
  void broadcast(const Tensor& x, int root) override {
    check_collective("broadcast", x);
    check(root == 0, "broadcast: root {} is not one of the ranks, which are only 0", root);
  }
  void barrier() override {}
};

}  // namespace

Shard shard_of(int64_t n, int rank, int ranks) {
  check(n >= 0 && ranks >= 1 && rank >= 0 && rank < ranks, "shard_of: rank {} of {} ranks, {} elements", rank, ranks,
        n);
  // The first n % ranks shards have one element more; n·rank could overflow.
  const int64_t each = n / ranks, more = n % ranks;
  const auto begin = [&](int64_t r) { return r * each + std::min(r, more); };
  return {begin(rank), begin(rank + 1)};
}

std::unique_ptr<Comm> single_rank() { return std::make_unique<SingleRank>(); }

void check_collective(const char* op, const Tensor& x) {
  check(x.defined(), "{}: the tensor is undefined", op);
  check(x.device().on_host(), "{}: the tensor is on {}, expected the CPU", op, to_string(x.device()));
  check(x.contiguous(), "{}: the tensor {} is not contiguous; use contiguous_copy()", op, x.shape());
}

}  // namespace pg

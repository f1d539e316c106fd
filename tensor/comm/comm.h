#pragma once
// Collective operations of a group of ranks. A rank is a process of the group, or a device of the CUDA simulator. All
// ranks of a group call the same collectives in the same order, with tensors of the same type and number of elements;
// where they differ, every rank throws an Error that names a rank that differs, and the call.
//
// A sum is ((x_0 + x_1) + x_2) + …, in the order of the ranks, if sums_in_order(): then it has the same bits whatever
// the implementation does in parallel. bf16 is added up in f32 and rounded once.
#include <cstdint>
#include <memory>
#include <string>

#include "tensor/comm/collective_call.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace pg {

// The part of n elements that belongs to a rank: all parts together are [0, n). They begin at multiples of `unit`, and
// their sizes differ by at most one unit.
Shard shard_of(int64_t n, int rank, int ranks, int64_t unit = 1);

struct ReduceOptions {
  int64_t unit = 1;  // of shard_of()
  // Where the sum of the own shard goes: [elements of the own shard], of x's type. Undefined: into x.
  Tensor into = {};
  bool add = false;  // the sum begins with what is there: ((into + x_0) + x_1) + …
  int terms = 0;     // only the first ranks' x are added up; the others take part without a term. 0: all
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What carries the elements: "shared memory", "MPI".
  virtual const char* name() const = 0;
  // Where the tensors of collectives must be.
  virtual Device device() const { return {}; }
  virtual bool sums_in_order() const { return true; }

  // These change x in place. x is contiguous and on device(), of any shape; an undefined x is an Error. Here n is the
  // number of elements and shard r is shard_of(n, r, size(), unit) of the elements in row-major order.
  // x becomes the sum of all ranks' x.
  void all_reduce(const Tensor& x) { wait(begin_all_reduce(x, true)); }
  // The own shard of x becomes that of the sum; the other elements stay as they are.
  void reduce_scatter(const Tensor& x, const ReduceOptions& o = {}) { wait(begin_reduce_scatter(x, o, true)); }
  // Every shard r of x becomes that of rank r.
  void all_gather(const Tensor& x, int64_t unit = 1) { wait(begin_all_gather(x, unit, true)); }
  // x becomes that of rank `root`. Error for a root that is not a rank.
  void broadcast(const Tensor& x, int root) { wait(begin_broadcast(x, root, true)); }
  // Returns once every rank has called it, after the collectives that were started before.
  virtual void barrier() = 0;

  // The same, but these return at once. Until wait(ticket) no one may read or write the tensor, and its memory must
  // exist. Collectives take place in the order in which they were started, and wait() includes all that were started
  // before that one. It throws their errors; on a device it lets the compute stream wait, not the host.
  using Ticket = uint64_t;
  Ticket start_all_reduce(const Tensor& x) { return begin_all_reduce(x, false); }
  Ticket start_reduce_scatter(const Tensor& x, const ReduceOptions& o = {}) {
    return begin_reduce_scatter(x, o, false);
  }
  Ticket start_all_gather(const Tensor& x, int64_t unit = 1) { return begin_all_gather(x, unit, false); }
  Ticket start_broadcast(const Tensor& x, int root) { return begin_broadcast(x, root, false); }
  virtual void wait(Ticket ticket) = 0;
  // For a rank that fails while collectives run: they and those of the other ranks end with an Error that has the
  // reason. Returns once none runs.
  virtual void abandon(const std::string& reason) = 0;

 protected:
  // Starts a collective whose arguments are checked. `into` is where the own shard's sum goes: undefined for x. If
  // `waits`, the caller calls wait() next.
  virtual Ticket submit(const CollectiveCall& call, const Tensor& x, const Tensor& into, bool waits) = 0;

 private:
  Ticket begin_all_reduce(const Tensor& x, bool waits);
  Ticket begin_reduce_scatter(const Tensor& x, const ReduceOptions& options, bool waits);
  Ticket begin_all_gather(const Tensor& x, int64_t unit, bool waits);
  Ticket begin_broadcast(const Tensor& x, int root, bool waits);
};

// The group of one rank, on any device. Its collectives check their arguments; reduce_scatter adds to `into`.
std::unique_ptr<Comm> single_rank(Device device = {});

// The text of rank 0, on every rank. A collective. Error for a text of more than 256 MiB.
std::string broadcast_text(Comm& comm, const std::string& text);
// What all ranks must have in common, such as the configuration of a run: throws on every rank if a text differs from
// that of rank 0, naming the first such rank, `what`, and the first line that differs.
void check_same_on_all_ranks(Comm& comm, const std::string& what, const std::string& text);

}  // namespace pg

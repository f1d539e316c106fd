#pragma once
// Collective operations of a group of ranks. A rank is a process of the group. All ranks of a group call the same
// collectives in the same order, with tensors of the same type and number of elements; where they differ, every rank
// throws an Error that names a rank that differs, and the call.
//
// A sum is ((x_0 + x_1) + x_2) + …, in the order of the ranks, whatever the implementation does in parallel: it has the
// same bits on all ranks and in every run. bf16 is added up in f32 and rounded once.
#include <cstdint>
#include <memory>
#include <string>

#include "tensor/tensor.h"

namespace pg {

// Elements [begin, end).
struct Shard {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};
// The part of n elements that belongs to a rank: all parts together are [0, n), and their sizes differ by at most 1.
Shard shard_of(int64_t n, int rank, int ranks);

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // These change x in place. x is contiguous and on the CPU, of any shape; an undefined x is an Error. Here n is the
  // number of elements and shard r is shard_of(n, r, size()) of the elements in row-major order.
  // x becomes the sum of all ranks' x.
  virtual void all_reduce(const Tensor& x) = 0;
  // The own shard of x becomes that of the sum; the other elements stay as they are.
  virtual void reduce_scatter(const Tensor& x) = 0;
  // Every shard r of x becomes that of rank r.
  virtual void all_gather(const Tensor& x) = 0;
  // x becomes that of rank `root`. Error for a root that is not a rank.
  virtual void broadcast(const Tensor& x, int root) = 0;
  // Returns once every rank has called it.
  virtual void barrier() = 0;
};

// The group of one rank. Its collectives only check their arguments.
std::unique_ptr<Comm> single_rank();

// Throws the Error of an x that collectives do not take.
void check_collective(const char* op, const Tensor& x);

}  // namespace pg

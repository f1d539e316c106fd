#pragma once
// The gradient of a step is the sum of those of its micro-batches, which the ranks share out. On ranks whose sums are
// in order it is ((g_0 + g_1) + g_2) + … over the micro-batches, so that its bits do not depend on the number of ranks.
#include <functional>
#include <memory>
#include <vector>

#include "nn/param_slab.h"
#include "tensor/comm/comm.h"

namespace pg {

class GradientSum {
 public:
  // The slabs and the group must outlive the result. Error unless the slabs are on the group's device.
  GradientSum(std::vector<ParamSlab*> slabs, Comm& comm);
  ~GradientSum();
  GradientSum(const GradientSum&) = delete;

  // Calls backward_of(i), which runs backward() once for each slab, for those of the micro-batches [0, micro_batches)
  // that belong to this rank: i = rank, rank + size, …. Afterwards the gradients in the slabs are the sum over all
  // micro-batches, on every rank; with ZeRO where the rank updates them (ParamSlab::own), and the others are undefined.
  // A parameter has a gradient if it received one on any rank. All ranks must call it with the same number. A bucket of
  // a slab whose gradients are complete is sent while backward() still runs, the end of a slab first. With more than
  // one micro-batch on a rank it keeps a second slab of gradients.
  //
  // `should_stop`, if given, is called by all ranks, and must answer the same to all, before each further micro-batch
  // of a rank. After true the sum is left: run() returns false, and the gradients are undefined. On a GPU, whose work
  // waits in a queue, it is not called.
  //
  // If backward_of throws, the work of all ranks ends. The first call compares the weights of the ranks: an Error names
  // a rank whose weights differ.
  bool run(int64_t micro_batches, const std::function<void(int64_t)>& backward_of,
           const std::function<bool()>& should_stop = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Compares the parameters of the ranks by a hash of their bits: an Error names a rank whose parameters differ.
void check_same_weights(Comm& comm, const std::vector<const ParamSlab*>& slabs);

// Values that belong to the micro-batches (or other parts) of a step: those of part i are known to rank i mod size.
// parts[i] must have one length on all ranks. Afterwards all ranks have all values, bit for bit.
void gather_parts(Comm& comm, std::vector<std::vector<double>>& parts);

}  // namespace pg

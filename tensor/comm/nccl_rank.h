#pragma once
// Collectives between GPUs, by NVIDIA's library NCCL. Each rank has a device of its own.
#include <memory>
#include <string>

#include "tensor/comm/comm.h"

namespace pg {

struct NcclOptions {
  // Seconds after which a collective that has begun on this rank's device, and is not done, ends the group: because a
  // rank is dead, late by that much, or calls another collective.
  double timeout = 8;
  // Whether the ranks compare each collective before it starts, through `bootstrap`. NCCL does not: ranks that differ
  // wait for each other until the timeout, or compute nonsense if only the types or numbers of elements differ. The
  // environment variable POLICYGRAD_COMM_CHECK=1 turns it on.
  bool compare_calls = false;
  // False plants a fault, for tests of the simulator: collectives do not wait for the kernels before them.
  bool waits_for_kernels = true;
};

// The Comm of cuda:`device`, whose ranks are those of `bootstrap`: it must outlive the result, brings the ranks
// together, and names the ranks that fail. Collectives run on a stream of their own, beside the kernels that were
// launched before wait(). sums_in_order() is false; the same calls give the same bits again. All calls must come from
// one thread. Error if the build has no NCCL, if the device does not exist, or if NCCL refuses the group, for example
// because two ranks have the same GPU.
//
// When a collective fails, the calls that follow throw an Error that says why; results of the failed one are undefined.
std::unique_ptr<Comm> nccl_rank(Comm& bootstrap, int device, const NcclOptions& options = {});

// "2.28.9", with " (simulated)" in a build for the simulator; "" if the build has no NCCL.
std::string nccl_version();

}  // namespace pg

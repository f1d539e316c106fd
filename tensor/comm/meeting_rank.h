#pragma once
// The Comm of a rank over the connections with rank 0 by which the ranks met (tensor/comm/socket_meeting.h). It carries
// the few bytes that a group between GPUs of several machines needs (tensor/comm/nccl_rank.h): NCCL's identifier, the
// calls of collectives, and the reason of a failure. Elements go over NCCL or MPI.
#include <memory>
#include <vector>

#include "tensor/comm/comm.h"
#include "tensor/comm/sockets.h"

namespace pg {

struct MeetingOptions {
  double timeout = 600;                   // seconds that a rank waits for another one in a collective
  int64_t most_bytes = int64_t{1} << 16;  // of a collective; equal on all ranks
};

// `connections` as Met has them. A collective of more bytes is an Error.
std::unique_ptr<Comm> meeting_rank(int rank, int size, std::vector<Socket> connections,
                                   const MeetingOptions& options = {});

}  // namespace pg

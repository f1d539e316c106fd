#pragma once
// How ranks that another program has started find each other: all call rank 0 over TCP.
#include <memory>
#include <string>
#include <vector>

#include "tensor/comm/comm.h"
#include "tensor/comm/shared_group.h"
#include "tensor/comm/sockets.h"

namespace pg {

struct SocketOptions {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  // of rank 0: a name, or a number of IPv4 or IPv6
  int port = 29500;                   // where rank 0 listens for the others
  // A secret that all ranks know. Each proves it to rank 0 before it is believed, and rank 0 to each; it is never sent.
  // It may be "" if the address is the loopback.
  std::string token = {};
  std::string run = {};              // keeps runs apart where there is no token; no secret
  double timeout = 60;               // seconds in which all ranks must have come
  int listener = -1;                 // for rank 0: a socket that listens already; it is closed
  bool sees_processes = true;        // false: as if every rank were on a machine of its own, for tests
  double idle = 10, longest = 1800;  // RanksOptions of memory that the ranks share
};

// What the ranks have in common from then on.
struct Met {
  SharedGroup* memory = nullptr;  // if all are on one machine: the caller's, to destroy
  // Otherwise rank 0's connections with the others, by rank, and those of each other rank: only the first, with rank 0.
  std::vector<Socket> connections = {};
  int elsewhere = 0;  // then a rank that is not on rank 0's machine, or in a container of its own
};

// Returns once all ranks have come. Rank 0 listens at the address and at no other; the other ranks listen nowhere.
// Connections that do not prove the token are closed and delay nothing. A second process with a rank's number, or one
// with another number of ranks, ends with an Error that says so; the start goes on.
//
// Error if not all ranks come in time, if the other side of a connection does not know the token, if the address is not
// the loopback and the token has fewer than 16 bytes, if rank 0 cannot listen at the address, or if there are more
// ranks on one machine than a SharedGroup has.
Met meet(const SocketOptions& options);

// A socket that listens at the address and at no other, at `port`, or at any free one if that is 0, and becomes it.
int listen_at(const std::string& address, int& port);

struct MeetingOptions {
  double timeout = 600;                   // seconds that a rank waits for another one in a collective
  int64_t most_bytes = int64_t{1} << 16;  // of a collective; equal on all ranks
};

// The Comm of a rank over the connections of Met. It carries the few bytes that a group between GPUs of several
// machines needs (tensor/comm/nccl_rank.h): NCCL's identifier, the calls of collectives, and the reason of a failure.
// Elements go over NCCL or MPI: a collective of more bytes is an Error.
std::unique_ptr<Comm> meeting_rank(int rank, int size, std::vector<Socket> connections,
                                   const MeetingOptions& options = {});

}  // namespace pg

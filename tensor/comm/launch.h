#pragma once
// How ranks start: processes of one machine that share memory, or processes that mpirun, torchrun or Slurm's srun has
// started.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tensor/comm/comm.h"

namespace pg {

struct RanksOptions {
  // Seconds after which a rank that waits for another one in a collective gives up, with an Error that names it, if
  // that one does nothing: on Linux, if it uses no processor time and does not wait for a disk.
  double timeout = 10;
  double longest = 1800;  // the same, whatever the other one does
};

// Runs `work` in `ranks` new processes, each with the Comm of its rank, and returns the exit status: 0 if all ranks
// returned 0, otherwise the status of the first rank that did not, 128 + the number of the signal that ended it, or 1
// after an exception. `sentences`, if given, becomes one line for each rank that failed, in the order in which they
// did: "rank 2: …".
//
// A rank that ends early, returns another status than 0, or throws, ends the work of all: the others throw an Error in
// the collective in which they wait or that they call next. Ranks that are still there `timeout` seconds later are
// killed. On Linux the ranks get SIGTERM if this process ends. They inherit its files and its memory as it was; it must
// not have other threads that hold locks. The memory that they share has no name and ends with the last of them.
//
// Error if ranks is not from 1 to 64, or if the system starts no more processes.
int run_ranks(int ranks, const std::function<int(Comm&)>& work, const RanksOptions& options = {},
              std::string* sentences = nullptr);

struct RankInfo {
  int rank = 0, size = 1;
  int local_rank = 0;       // among the ranks of this machine
  const char* source = "";  // "torchrun"
  bool mpi = false;         // the ranks find each other by MPI
};

struct StartOptions {
  double timeout = 10, remote_timeout = 600;  // MessageOptions
  double connect_timeout = 60;                // seconds in which all ranks must have come
  bool sees_processes = true;                 // false: as if every rank were on a machine of its own, for tests
  bool carries_elements = true;               // false: the group only brings ranks together whose elements go over NCCL
};

// What the environment says, without connecting to anyone; nothing for a process that was started alone. Error if its
// variables are incomplete or contradict each other.
std::optional<RankInfo> ranks_of_environment();

// The group of this process: over MPI if that started the ranks, over shared memory if all are on one machine, and over
// sockets (tensor/comm/socket_meeting.h) if it carries no elements; null for a process that was started alone. Error
// also if ranks start with MPI and this build has none, and for ranks of several machines that must carry elements
// without it.
std::unique_ptr<Comm> comm_of_environment(const StartOptions& options = {});

// The first host of a list of Slurm: "node04" of "node[04-07,9],other".
std::string first_host(const std::string& list);

}  // namespace pg

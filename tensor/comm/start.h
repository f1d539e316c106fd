#pragma once
// The ranks of processes that another program has started: mpirun, torchrun or Slurm's srun.
#include <memory>
#include <optional>
#include <string>

#include "tensor/comm/comm.h"

namespace pg {

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

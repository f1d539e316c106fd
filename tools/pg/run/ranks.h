#pragma once
// A command on several ranks: its options, its processes, and what the ranks do together.
#include <functional>
#include <optional>
#include <string>

#include "nn/train/trainer.h"
#include "tensor/comm/comm.h"
#include "tools/pg/cli/options.h"
#include "tools/pg/run/run_dir.h"

namespace pg::tools {

// Orders to the program: they are not settings of a run, whose bits do not depend on them.
struct RankOptions {
  int ranks = 1;         // processes
  bool log_all = false;  // ranks other than 0 write too
  int restarts = 0;
  int zero = 0;
  double timeout = 0;  // seconds; 0: 10, but 600 for ranks of other machines, which tell nothing
};
// The number of ranks: of --ranks, or of mpirun, torchrun or Slurm if they have started this process as one of several.
int rank_count(const RankOptions& options);

// --ranks, for commands without the others.
Field ranks_field(RankOptions& options);
// All but zero.
std::vector<Field> fields(RankOptions& options);
// --zero, for commands that know it, up to the stage `most`: which state each rank holds (nn/param_slab.h).
Field zero_field(RankOptions& options, int most = 3);

// The note for --accumulate in help, and what it says: unless given, a step has one batch for each rank. Error if there
// are fewer batches than ranks, and for --zero 3 unless all ranks have equally many.
inline constexpr const char* kOneForEachRank = "unless given, one for each rank";
void settle_batches(TrainConfig& train, const RankOptions& options, const Given& given);
// The same for --micro-batch of a command whose steps have one batch, which several ranks divide.
inline constexpr const char* kPartForEachRank = "with --ranks and unless given, a batch has one part for each rank";
void settle_micro_batch(int64_t& micro_batch, int64_t batch, const RankOptions& options, const Given& given);

// Runs `work` with a Comm of tensors on `device`, the text of --device, and returns its exit status. One rank without
// restarts is this process, and so is a rank that mpirun, torchrun or Slurm has started (tensor/comm/launch.h).
// Otherwise the ranks are new processes (tensor/comm/launch.h) that end together: a rank whose command has returned
// waits for the others.
//
// With "cuda", each of several ranks has a GPU of its own, and NCCL between them: the n-th rank of a machine the n-th
// GPU, or the only one that it sees. Until this returns, the caller must not use a GPU, which forked processes could
// not use then.
//
// All ranks must have equal options (run.config), which is an Error otherwise.
//
// The standard output of ranks other than 0 is discarded. Their remarks are too, unless log_all: then they go to
// standard error, and each line begins with "[rank 1] ".
//
// The error of a rank becomes an Error of the first rank that failed: "rank 2: …". The others only noticed. If a rank
// fails once the run has a folder (start_run below), or a signal ends it, all are started again, at most `restarts`
// times: they continue from that folder, which becomes run.resume. SIGINT, SIGTERM and SIGHUP request an end, so they
// start nothing again.
int run_on_ranks(const RankOptions& options, const std::string& device, RunOptions& run,
                 const std::function<int(Comm&)>& work);

// start_threads() for a rank: with 0 threads the ranks of a machine share its cores. A collective.
void start_threads(int threads, Comm& comm);

// Collectives: every rank calls them.
// Whether it is so on some rank.
bool agreed(Comm& comm, bool here);
// The most parts that one rank has if `ranks` share out `parts`.
inline int64_t ranks_share(int64_t parts, int64_t ranks) { return (parts + ranks - 1) / ranks; }

// Whether a rank was interrupted (catch_interrupt()). Then all of them are, with the same interrupt_status().
bool interrupted_anywhere(Comm& comm);

// The run of --resume. Rank 0 holds its folder.
struct OpenedRun {
  std::optional<RunDir> folder;
  bool has_checkpoint = false;  // on every rank
};
OpenedRun open_run(Comm& comm, const std::string& path);
// start_run() on rank 0; the others get nothing.
std::optional<RunDir> start_run(Comm& comm, std::optional<RunDir> opened, int64_t done, const std::string& root,
                                const std::string& name);
// The path of the run of rank 0, into which all ranks write with `zero`: Error if it is no folder on one of them.
std::string path_on_ranks(Comm& comm, const std::optional<RunDir>& run, int zero);

}  // namespace pg::tools

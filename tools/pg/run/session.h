#pragma once
// What every command that makes a run does besides its training: it opens or makes the folder, tells its path to the
// ranks, logs, shows progress, saves, and ends when it is asked to stop.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensor/comm/comm.h"
#include "tools/pg/cli/options.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/run/ranks.h"
#include "tools/pg/run/run_dir.h"

namespace pg::tools {

class RunSession {
 public:
  // Opens the run of --resume, if there is one, so that no other process writes to it, and starts the threads of this
  // rank. `command` is the name of the command, for the line that says how to continue. A collective.
  RunSession(Comm& comm, const RunOptions& options, std::string command);

  Comm& comm() const { return comm_; }
  // Whether there is a checkpoint to continue from, and its path.
  bool resumed() const { return opened_.has_checkpoint; }
  std::string resumed_checkpoint() const { return checkpoint_path(options_.resume); }

  // Makes the folder of a new run, or goes on in the opened one after `done` of `total` steps. Writes config.yaml,
  // begins to show progress, and from now on signals only ask for an end. The name of a new run is --name, or else
  // `name`. A collective; `zero` as path_on_ranks() says.
  void begin(int64_t done, int64_t total, const std::string& name, int zero = 0);

  RunDir* folder() { return folder_ ? &*folder_ : nullptr; }  // null on ranks other than 0
  const std::string& path() const { return path_; }           // on every rank
  Progress& progress() { return *progress_; }
  // What is printed next begins a line.
  void end_progress() { progress_.emplace(total_, total_); }

  // Whether the run has not logged the evaluation of this step before it was resumed.
  bool is_new(int64_t step) const { return step > done_ || done_ == 0; }
  // Logs on rank 0; the second only what is_new().
  void log(int64_t step, const std::vector<std::pair<std::string, double>>& values);
  void log_evaluation(int64_t step, const std::vector<std::pair<std::string, double>>& values);

  // Whether a rank is asked to stop. A collective.
  std::function<bool()> should_stop() const {
    return [this] { return interrupted_anywhere(comm_); };
  }
  // Call it after a checkpoint is written.
  void saved();
  // Says after which "step 12" the saved run was stopped and how to continue it. Returns the exit status.
  int stopped(const std::string& after);

 private:
  Comm& comm_;
  RunOptions options_;
  std::string command_;
  OpenedRun opened_;
  std::optional<RunDir> folder_;
  std::string path_;
  std::optional<Progress> progress_;
  int64_t done_ = 0, total_ = 0;
};

// Runs the trainer to its end, or until it is stopped: then hooks.on_checkpoint saves it. Whether it came to its end.
// With `profile` it prints the report of --profile to `out`.
bool run_trainer(RunSession& session, Trainer& trainer, TrainHooks hooks, bool profile, std::FILE* out);

}  // namespace pg::tools

#pragma once
// The run folder of a training command that supports --resume.
#include <optional>
#include <string>

#include "tools/pg/run/run_dir.h"

namespace pg::tools {

// The checkpoint of a run's folder.
inline std::string checkpoint_path(const std::string& run) { return run + "/checkpoint.safetensors"; }
// The run's checkpoint of the lowest validation loss, weights only.
inline std::string best_checkpoint_path(const std::string& run) { return run + "/best.safetensors"; }
// If `run` is a run's folder: its last checkpoint or, with `best`, that of the lowest validation loss. If `run` is a
// checkpoint: itself. Throws Error if the folder has no checkpoint.
std::string checkpoint_of(const std::string& run, bool best = false);

// The run of --resume, locked; none if `path` is empty. Call it first, so that no other process writes in between.
std::optional<RunDir> open_run(const std::string& path);
// Whether there is a checkpoint to continue from. False for a new run and, with a remark, for a run that was stopped
// before it saved anything. Throws Error if the run had saved a checkpoint and it is gone.
bool has_checkpoint(const std::optional<RunDir>& opened);
// The folder of a run with `done` completed steps: the opened one, without the log entries of later steps, or a new
// one.
RunDir start_run(std::optional<RunDir> opened, int64_t done, const std::string& root, const std::string& name);
// Call it after a checkpoint is written.
void note_saved(const RunDir& run);

}  // namespace pg::tools

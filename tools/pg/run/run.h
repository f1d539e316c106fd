#pragma once
// The run folder of a command that trains and can go on with --resume.
#include <optional>
#include <string>

#include "tools/pg/run/run_dir.h"

namespace pg::tools {

// The checkpoint of a run's folder.
inline std::string checkpoint_path(const std::string& run) { return run + "/checkpoint.safetensors"; }
// Its checkpoint of the lowest validation loss, weights only.
inline std::string best_checkpoint_path(const std::string& run) { return run + "/best.safetensors"; }
// `run` is a run's folder, of which this is the last checkpoint or with `best` that of the lowest validation loss, or
// itself a checkpoint. Error when the folder has none.
std::string checkpoint_of(const std::string& run, bool best = false);

// The run of --resume, locked; none when `path` is empty. Call it first, so that no other process writes in between.
std::optional<RunDir> open_run(const std::string& path);
// Is there a checkpoint to go on from? False for a new run and for one that was stopped before it saved anything, which
// a remark tells. Error when the run had saved one and it is gone.
bool has_checkpoint(const std::optional<RunDir>& opened);
// The folder of a run of which `done` steps are done: the opened one without what it logged of later steps, else a new
// one.
RunDir start_run(std::optional<RunDir> opened, int64_t done, const std::string& root, const std::string& name);
// To be called after a checkpoint was written.
void note_saved(const RunDir& run);

}  // namespace pg::tools

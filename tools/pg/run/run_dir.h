#pragma once
// A run's folder contains everything needed to inspect, repeat or continue a training run.
//   config.yaml     the complete effective configuration
//   metrics.jsonl   one JSON object per line: {"step": 10, "loss": 2.5}
//   events.out.*    the same scalars for TensorBoard
// The program adds other files, in particular checkpoints. Only one process at a time can hold the folder.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/base/atomic_file.h"
#include "tools/pg/run/folder_lock.h"
#include "tools/pg/run/tensorboard.h"

namespace pg {

// Error for a name of a run that cannot be a part of its folder's name, or would not be readable in a terminal.
void check_run_name(const std::string& name);

class RunDir {
 public:
  // A new folder root/<date>-<time>_<name>, with suffix _2, _3 … if it already exists. Throws Error naming the path and
  // the system's error.
  static RunDir create(const std::string& root, const std::string& name);
  // An existing run. Throws Error if there is none or another process holds it.
  static RunDir open(const std::string& path);
  // Removes the entries of `step` and later steps from the files that log() and append() write, because the continued
  // run logs them again. Call it before the first log(). Other files of the folder are the user's: nothing changes
  // them.
  void rewind(int64_t step);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Appends lines to a file that grows at each step, flushed: health.jsonl, samples.jsonl or episodes.jsonl.
  void append(const std::string& name, const std::vector<std::string>& lines) const;
  void save_config(std::string_view yaml) const { write_file_atomically(file("config.yaml"), yaml); }

  // Writes one line of metrics.jsonl, flushed, and one TensorBoard scalar per value. NaN and infinity are null in the
  // JSON.
  void log(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  explicit RunDir(std::string path);
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  FolderLock lock_;
  std::unique_ptr<std::FILE, Close> metrics_;  // metrics_ and events_ are opened by the first log()
  std::unique_ptr<TensorBoardWriter> events_;
};

}  // namespace pg

namespace pg::tools {

// Error if `folder` is no run's folder. The message names the runs in it, if it is a folder of --out.
void check_run(const std::string& folder);
// The checkpoint of a run's folder.
std::string checkpoint_path(const std::string& run);
// The run's checkpoint of the lowest validation loss, weights only.
std::string best_checkpoint_path(const std::string& run);
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

// Opens a new or resumed run folder.
#include "tools/pg/run/run.h"

#include <filesystem>

#include "tensor/base/error.h"
#include "tools/pg/run/remark.h"

namespace pg::tools {
namespace {

namespace fs = std::filesystem;

// A marker file that exists from the folder's creation until its first checkpoint.
std::string unsaved_mark(const RunDir& run) { return run.file("not_saved_yet"); }

}  // namespace

std::string checkpoint_of(const std::string& run, bool best) {
  std::error_code error;
  if (!fs::is_directory(run, error)) {
    check(!best, "{}: expected a run's folder for its best checkpoint, this is none", run);
    return run;
  }
  const std::string path = best ? best_checkpoint_path(run) : checkpoint_path(run);
  check(fs::exists(path, error), "{}: the run has no {}; {}", run, fs::path(path).filename().string(),
        best ? "pg train keeps one from its first evaluation on" : "it was stopped before its first checkpoint");
  return path;
}

std::optional<RunDir> open_run(const std::string& path) {
  if (path.empty()) return std::nullopt;
  return RunDir::open(path);
}

bool has_checkpoint(const std::optional<RunDir>& opened) {
  if (!opened) return false;
  std::error_code error;
  if (fs::exists(checkpoint_path(opened->path()), error)) return true;
  check(fs::exists(unsaved_mark(*opened), error),
        "run folder {0}: its checkpoint.safetensors is missing; put it back, or start again in a new folder with "
        "--config {0}/config.yaml",
        opened->path());
  remark(stderr, "{}: this run was stopped before its first checkpoint; it starts at step 0\n", opened->path());
  return false;
}

RunDir start_run(std::optional<RunDir> opened, int64_t done, const std::string& root, const std::string& name) {
  if (opened) {
    opened->rewind(done == 0 ? 0 : done + 1);  // step 0 is the evaluation before the first step
    return std::move(*opened);
  }
  RunDir run = RunDir::create(root, name);
  write_file_atomically(unsaved_mark(run), "");
  return run;
}

void note_saved(const RunDir& run) {
  std::error_code error;
  fs::remove(unsaved_mark(run), error);
}

}  // namespace pg::tools

// A run's folder: config, metrics, lock; opening it for a new or resumed run.
#include "tools/pg/run/run_dir.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "nn/files/checkpoint.h"
#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/cli/terminal_text.h"

namespace pg {

namespace fs = std::filesystem;

namespace {

const std::string kCheckpoint = "checkpoint.safetensors", kBestCheckpoint = "best.safetensors";
// A marker file that exists from the folder's creation until its first checkpoint.
const std::string kUnsavedMark = "not_saved_yet";

// The files that grow by lines at each step.
const std::vector<std::string> kStepLogs = {"metrics.jsonl", "health.jsonl", "samples.jsonl", "episodes.jsonl"};
bool is_step_log(const std::string& name) {
  return std::find(kStepLogs.begin(), kStepLogs.end(), name) != kStepLogs.end();
}

// Whether a run writes a file of this name into its folder.
bool is_own(const std::string& name) {
  return is_step_log(name) || is_tensorboard_file(name) || name == "config.yaml" || name == kUnsavedMark ||
         name == kCheckpoint || name == kBestCheckpoint || is_shard_of(kCheckpoint, name);
}

// The files of a folder. Throws Error naming the folder and the system's error.
std::vector<fs::path> files_of(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator next(folder, error), end; !error && next != end; next.increment(error)) {
    files.push_back(next->path());
  }
  check(!error, "run folder {}: cannot list its files: {}", folder, error.message());
  return files;
}

// The lines of a .jsonl file before `step`. A line truncated by a crash is not a JSON object and is dropped too.
std::string lines_before(const fs::path& path, int64_t step) {
  std::string kept;
  const std::string text = read_file(path.string());
  for (size_t begin = 0; begin < text.size();) {
    const std::string line = text.substr(begin, text.find('\n', begin) - begin);
    begin += line.size() + 1;
    const Json object = Json::try_parse(shallow_json(line, path.string()));
    if (object["step"].is_integer_in(INT64_MIN, step - 1)) kept += line + "\n";
  }
  return kept;
}

}  // namespace

void check_run_name(const std::string& name) {
  const auto bad = [](unsigned char c) { return c < 0x20 || c == 0x7f || c == '/'; };
  check(std::none_of(name.begin(), name.end(), bad) && name.size() <= 200,
        "the name of a run, '{}', must have at most 200 bytes, and no / and no control character: it is a part of the "
        "name of the run's folder, and --out says where that is made",
        excerpt(name));
}

RunDir RunDir::create(const std::string& root, const std::string& name) {
  check_run_name(name);
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &local);
  const std::string base = fmt::format("{}/{}_{}", root, stamp, name);
  std::error_code error;
  fs::create_directories(root, error);
  check(!error, "run folder {}: cannot make the folder {}: {}", base, root, error.message());
  std::string path = base;
  for (int i = 2; !fs::create_directory(path, error); ++i) {
    check(!error, "run folder {}: cannot make it: {}", path, error.message());
    path = fmt::format("{}_{}", base, i);
  }
  return RunDir(path);
}

RunDir RunDir::open(const std::string& path) {
  std::error_code error;
  const bool folder = fs::is_directory(path, error);
  check(folder, "run folder {}: {}", path, error ? error.message() : "it is a file, expected a folder");
  RunDir run(path);
  for (const fs::path& file : files_of(path)) {
    const std::string name = file.filename().string();
    if (is_own(std::string(name_of_temporary(name)))) fs::remove(file, error);  // of a process that was killed
  }
  return run;
}

void RunDir::rewind(int64_t step) {
  check(!metrics_, "run folder {}: rewind() after log()", path_);
  for (const fs::path& file : files_of(path_)) {
    const std::string name = file.filename().string();
    if (is_step_log(name)) write_file_atomically(file.string(), lines_before(file, step));
    if (is_tensorboard_file(name)) drop_tensorboard_steps(file.string(), step);
  }
}

RunDir::RunDir(std::string path) : path_(std::move(path)), lock_(path_, "run folder", "training in") {}

void RunDir::log(int64_t step, const std::vector<std::pair<std::string, double>>& values) {
  if (!metrics_) {
    metrics_.reset(std::fopen(file("metrics.jsonl").c_str(), "abe"));
    check(metrics_ != nullptr, "run folder {}: cannot write metrics.jsonl: {}", path_, std::strerror(errno));
    events_ = std::make_unique<TensorBoardWriter>(path_);
  }
  Json line = {{"step", step}};
  for (const auto& [name, value] : values) line[name] = std::isfinite(value) ? Json(value) : nullptr;
  const std::string text = line.dump() + "\n";
  const bool ok = std::fwrite(text.data(), 1, text.size(), metrics_.get()) == text.size();
  check(ok && std::fflush(metrics_.get()) == 0, "run folder {}: cannot write metrics.jsonl: {}", path_,
        std::strerror(errno));
  for (const auto& [name, value] : values) events_->scalar(name, step, value);
}

void RunDir::append(const std::string& name, const std::vector<std::string>& lines) const {
  check(is_step_log(name), "run folder {}: expected one of {}, got {}", path_, fmt::join(kStepLogs, ", "), name);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  std::FILE* out = std::fopen(file(name).c_str(), "abe");
  check(out != nullptr, "{}: cannot write: {}", file(name), std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  const bool closed = std::fclose(out) == 0;
  check(written && closed, "{}: cannot write: {}", file(name), std::strerror(errno));
}

}  // namespace pg

namespace pg::tools {
namespace {

std::string unsaved_mark(const RunDir& run) { return run.file(kUnsavedMark); }

}  // namespace

void check_run(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder + "/config.yaml", error)) return;
  const bool is_folder = fs::is_directory(folder, error);
  check(is_folder, "{}: expected a run's folder: {}", folder, error ? error.message() : "it is a file");
  std::vector<std::string> runs;
  for (const fs::path& inside : files_of(folder)) {
    if (fs::exists(inside / "config.yaml", error)) runs.push_back(inside.string());
  }
  std::sort(runs.rbegin(), runs.rend());  // the newest first
  if (runs.size() > 5) runs.resize(5), runs.push_back("…");
  fail("{}: this is no run's folder, because it has no config.yaml{}{}", folder,
       runs.empty() ? "" : "; the runs in it are ", fmt::join(runs, ", "));
}

std::string checkpoint_path(const std::string& run) { return run + "/" + kCheckpoint; }
std::string best_checkpoint_path(const std::string& run) { return run + "/" + kBestCheckpoint; }

std::string checkpoint_of(const std::string& run, bool best) {
  std::error_code error;
  if (!fs::is_directory(run, error)) {
    check(!best, "{}: expected a run's folder for its best checkpoint, this is none", run);
    return run;
  }
  const std::string path = best ? best_checkpoint_path(run) : checkpoint_path(run);
  if (fs::exists(path, error)) return path;
  if (!fs::exists(checkpoint_path(run), error)) check_run(run);
  fail("{}: the run has no {}; {}", run, fs::path(path).filename().string(),
       best ? "pg train keeps one from its first evaluation on" : "it was stopped before its first checkpoint");
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

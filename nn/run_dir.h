#pragma once
// A run's folder: everything needed to look at a training run, repeat it, or go on with it.
//   config.yaml     the complete effective configuration
//   metrics.jsonl   one JSON object per line: {"step": 10, "loss": 2.5}
//   events.out.*    the same scalars for TensorBoard
// and whatever the program adds, checkpoints first of all.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/atomic_file.h"
#include "nn/tensorboard.h"

namespace pg {

class RunDir {
 public:
  // A new folder root/<date>-<time>_<name>, with _2, _3 … behind it when it exists already.
  static RunDir create(const std::string& root, const std::string& name);
  // An existing run about to continue from `step`: what its .jsonl files say of this step and later ones is dropped, it
  // comes again.
  static RunDir resume(const std::string& path, int64_t step);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void save_config(std::string_view yaml) const { write_file_atomically(file("config.yaml"), yaml); }

  // One line of metrics.jsonl, flushed, and one TensorBoard scalar per value. A NaN or infinity is null in the JSON.
  void log(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  explicit RunDir(std::string path);
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> metrics_;
  TensorBoardWriter events_;
};

}  // namespace pg

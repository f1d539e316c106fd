#pragma once
// A run's folder: everything needed to look at a training run, repeat it, or go on with it.
//   config.yaml     the complete effective configuration
//   metrics.jsonl   one JSON object per line: {"step": 10, "loss": 2.5}
//   events.out.*    the same scalars for TensorBoard
// and whatever the program adds, checkpoints first of all. One process at a time holds it.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "nn/atomic_file.h"
#include "tools/pg/run/tensorboard.h"

namespace pg {

class RunDir {
 public:
  // A new folder root/<date>-<time>_<name>, with _2, _3 … behind it when it exists already. Error naming the path and
  // the system's reason.
  static RunDir create(const std::string& root, const std::string& name);
  // An existing run. Error when there is none or another process holds it.
  static RunDir open(const std::string& path);
  // What the .jsonl and TensorBoard files say of `step` and later steps is dropped: the run goes on and logs it again.
  // To be called before the first log().
  void rewind(int64_t step);

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  void save_config(std::string_view yaml) const { write_file_atomically(file("config.yaml"), yaml); }

  // One line of metrics.jsonl, flushed, and one TensorBoard scalar per value. A NaN or infinity is null in the JSON.
  void log(int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  explicit RunDir(std::string path);
  // No other process that asks for it gets the folder while this object is alive.
  class Lock {
   public:
    explicit Lock(const std::string& path);
    Lock(Lock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
    ~Lock();

   private:
    int file_;
  };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  Lock lock_;
  std::unique_ptr<std::FILE, Close> metrics_;  // this and events_ are opened by the first log()
  std::unique_ptr<TensorBoardWriter> events_;
};

}  // namespace pg

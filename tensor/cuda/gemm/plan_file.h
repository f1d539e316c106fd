#pragma once
// A file with the algorithms that timing selected: the next process uses the same algorithms and computes the same
// bits. Several processes may add to it at the same time. One line per entry; of several entries with one key the first
// counts, for all processes.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pg::cuda {

class PlanFile {
 public:
  using Key = std::vector<int64_t>;
  using Algorithm = std::array<uint64_t, 8>;

  // `machine`: everything that determines speed, on one line. Lines that are damaged or of another machine are ignored,
  // with one warning; so is a file that cannot be read. An empty path means no file.
  PlanFile(std::string path, std::string machine);
  // Also sees what other processes have added. nullptr if there is none.
  const Algorithm* find(const Key& key);
  // Appends the entry, unless another process was faster; returns the one that counts. It is no error if the file
  // cannot be written: then the next process selects again.
  Algorithm add(const Key& key, const Algorithm& algorithm);

 private:
  void read(int file);
  void take(std::string_view line);
  std::string line_of(const Key& key, const Algorithm& algorithm) const;

  std::string path_, machine_;
  std::map<Key, Algorithm> plans_;
  uint64_t inode_ = 0;
  int64_t read_ = 0;  // bytes of the file that are in plans_: whole lines
  bool warned_ = false;
};

// The default path: tensor/base/atomic_file.h.
std::string plan_path(const std::string& machine);
// For tests: the current device forgets its algorithms and continues with this file.
void use_plan_file(const std::string& path);

}  // namespace pg::cuda

#pragma once
// A file with the algorithms that timing selected: the next process uses the same algorithms and computes the same
// bits. Two processes that select at the same time may differ; the entry that is in the file first stays.
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pg::cuda {

class PlanFile {
 public:
  using Key = std::vector<int64_t>;
  using Algorithm = std::array<uint64_t, 8>;

  // `machine`: everything that determines speed, on one line; entries for another machine are ignored. A file that is
  // damaged or cannot be read counts as empty.
  PlanFile(std::string path, std::string machine);
  const Algorithm* find(const Key& key) const;  // nullptr if there is none
  // Also writes the file atomically. It is no error if the file cannot be written: then the next process selects again.
  void add(const Key& key, const Algorithm& algorithm);

 private:
  void read();
  std::string path_, machine_;
  std::map<Key, Algorithm> plans_;
};

// The default path, in the folder POLICYGRAD_CACHE, else XDG_CACHE_HOME/policygrad, else ~/.cache/policygrad.
std::string plan_path(const std::string& machine);

}  // namespace pg::cuda

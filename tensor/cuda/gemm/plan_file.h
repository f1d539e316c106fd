#pragma once
// What timing chose, kept in a file: the next process takes the same algorithms and computes the same bits. Two
// processes that choose at the same time may differ; what is in the file first, stays.
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

  // `machine`: all that decides about speed, on one line; choices made for another are not seen. A file that is damaged
  // or cannot be read counts as empty.
  PlanFile(std::string path, std::string machine);
  const Algorithm* find(const Key& key) const;  // nullptr: none was chosen
  // Also writes the file, whole or not at all. That it cannot be written is no error: then the next process chooses
  // anew.
  void add(const Key& key, const Algorithm& algorithm);

 private:
  void read();
  std::string path_, machine_;
  std::map<Key, Algorithm> plans_;
};

// Where it is by default, in the folder POLICYGRAD_CACHE, else XDG_CACHE_HOME/policygrad, else ~/.cache/policygrad.
std::string plan_path(const std::string& machine);

}  // namespace pg::cuda

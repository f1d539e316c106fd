#pragma once
// What --profile prints at the end of a training: where the time went, and the memory of a step.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nn/trainer.h"
#include "tensor/profile.h"
#include "tensor/timeline.h"

namespace pg::tools {

class ProfileReport {
 public:
  // Measures from now on if it is wanted; otherwise nothing here does anything.
  explicit ProfileReport(bool wanted) {
    if (!wanted) return;
    profile_.emplace();
    timeline_.emplace();
  }
  // A table of the kernels, with several ranks the timeline of the last step, and a line with the memory of each kind
  // in MB: those of StepMemory, `more`, and the most that the process had in memory.
  void print(std::FILE* out, const StepMemory& memory,
             const std::vector<std::pair<std::string, size_t>>& more = {}) const;

 private:
  std::optional<Profile> profile_;
  std::optional<Timeline> timeline_;
};

}  // namespace pg::tools

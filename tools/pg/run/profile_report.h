#pragma once
// What --profile prints at the end of a training: where the time went, and the memory of a step.
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nn/train/trainer.h"
#include "rl/text/speed.h"
#include "tensor/measure/profile.h"
#include "tensor/measure/timeline.h"

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
  // in MB: those of StepMemory, if known, `more`, and the most that the process had in memory.
  void print(std::FILE* out, const StepMemory& memory,
             const std::vector<std::pair<std::string, size_t>>& more = {}) const;

 private:
  std::optional<Profile> profile_;
  std::optional<Timeline> timeline_;
};

// What the machine reaches, if it is wanted and the device is the CPU; this takes about a second. Else zeros.
rl::MachineRates measured_rates(bool wanted, DType dtype, const Device& device);

// The mean speed of rollouts and updates, of the metrics of several steps.
class SpeedReport {
 public:
  void add(const rl::Metrics& metrics);
  // Prints a line if the steps were compared with measured rates.
  void print(std::FILE* out, const rl::MachineRates& rates) const;

 private:
  double rollout_seconds_ = 0, update_seconds_ = 0, sampled_ = 0, computed_ = 0;
  double bound_ = 0, flops_ = 0;  // seconds that the rollouts take at least; the share of the peak times seconds
};

}  // namespace pg::tools

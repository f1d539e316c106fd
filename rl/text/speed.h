#pragma once
// Time and memory of the parts of a step, and their speed beside what the machine could do.
#include <cstddef>
#include <span>

#include "nn/decode/generate.h"
#include "rl/text/metrics.h"
#include "tensor/base/clock.h"
#include "tensor/storage.h"

namespace pg::rl {

// What the machine reaches with all threads of this process, per second; 0: not measured.
struct MachineRates {
  double flops = 0;  // multiplies and adds in the type of the model
  double bytes = 0;  // read from memory
};

// The weights of the matrix products that a token passes through, the head's included.
int64_t multiplied_weights(Transformer& model);
// The time in seconds that these generations take at least. Each pass reads all weights, and multiplies them with each
// row: the slower of the two counts. Prompts count as arithmetic without the head. Attention is left out.
double rollout_bound(Transformer& model, std::span<const GenerateStats> generations, const MachineRates& rates);
// The mean of GenerateStats::slots_busy over the passes that it is about; 1 if there are none.
double slots_busy(std::span<const GenerateStats> generations);

// Work of this rank and times of one step.
struct StepWork {
  std::vector<GenerateStats> generations;
  double rollout_seconds = 0, update_seconds = 0;
  double sampled = 0;   // tokens that the policy sampled, on all ranks
  double computed = 0;  // positions that went forward and backward, on all ranks
  double flops = 0;     // of the update, counted by a Profile; 0: not counted
};
// Adds "time/rollout_s", "time/update_s" and tokens per second of both: those sampled, and the positions computed. Adds
// "time/slots_busy" if rows waited for a slot. With measured rates also "time/rollout_bound_share", the share of the
// time that the bound explains, and "time/update_peak_share", the share of the arithmetic peak.
void add_speed_metrics(Metrics& metrics, Transformer& model, const StepWork& work, const MachineRates& rates);

// It resets the peak of the device's memory_stats().
class PeakMemory {
 public:
  explicit PeakMemory(const Device& device) : device_(device), before_(memory_stats(device).in_use) {
    reset_peak_memory(device);
  }
  // The most bytes since the last lap, or since the beginning, above those in use at the beginning.
  size_t lap() {
    const size_t peak = memory_stats(device_).peak;
    reset_peak_memory(device_);
    return peak > before_ ? peak - before_ : 0;
  }

 private:
  const Device device_;
  const size_t before_;
};

}  // namespace pg::rl

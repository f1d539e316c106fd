// Speed of rollouts and updates beside what the machine could do.
#include "rl/text/speed.h"

#include <algorithm>

namespace pg::rl {
namespace {

int64_t head_weights(const TransformerConfig& c) { return c.vocab_size * c.n_embd; }

}  // namespace

int64_t multiplied_weights(Transformer& model) {
  int64_t count = head_weights(model.config);
  for (const auto& [name, parameter] : named_parameters(model)) {
    if (name.starts_with("h.") && parameter.rank() == 2) count += parameter.numel();
  }
  return count;
}

double rollout_bound(Transformer& model, std::span<const GenerateStats> generations, const MachineRates& rates) {
  const int64_t weights = multiplied_weights(model);
  const double read = static_cast<double>(weights) * static_cast<double>(size_of(model.config.dtype)) / rates.bytes;
  const double row = 2 * static_cast<double>(weights) / rates.flops;
  const double prompt_token = 2 * static_cast<double>(weights - head_weights(model.config)) / rates.flops;
  double seconds = 0;
  for (const GenerateStats& g : generations) {
    seconds += static_cast<double>(g.prompt_tokens) * prompt_token;
    for (const int64_t rows : g.rows_of_pass) seconds += std::max(read, static_cast<double>(rows) * row);
  }
  return seconds;
}

double slots_busy(std::span<const GenerateStats> generations) {
  double busy = 0, passes = 0;
  for (const GenerateStats& g : generations) {
    busy += g.slots_busy * static_cast<double>(g.crowded_passes);
    passes += static_cast<double>(g.crowded_passes);
  }
  return passes == 0 ? 1 : busy / passes;
}

void add_speed_metrics(Metrics& metrics, Transformer& model, const StepWork& w, const MachineRates& rates) {
  metrics.add("time/rollout_s", w.rollout_seconds);
  metrics.add("time/update_s", w.update_seconds);
  metrics.add("time/rollout_tokens_per_s", w.sampled / w.rollout_seconds);
  metrics.add("time/update_tokens_per_s", w.computed / w.update_seconds);
  const bool crowded = std::any_of(w.generations.begin(), w.generations.end(),
                                   [](const GenerateStats& g) { return g.crowded_passes > 0; });
  if (crowded) metrics.add("time/slots_busy", slots_busy(w.generations));
  if (rates.flops == 0) return;
  metrics.add("time/rollout_bound_share", rollout_bound(model, w.generations, rates) / w.rollout_seconds);
  metrics.add("time/update_peak_share", w.flops / w.update_seconds / rates.flops);
}

}  // namespace pg::rl

// Measurements of RlTrainer outside its updates: a check of the probabilities, greedy answers to held-out problems, and
// memory.
#include <cmath>

#include "rl/methods/statistics.h"
#include "rl/text/trainer.h"

namespace pg::rl {

void RlTrainer::check_probabilities(const Batch& batch, double temperature, Metrics& metrics) const {
  NoGrad no_grad;
  const std::vector<double> log_probs = batch.sampler_log_prob.to_vector(), mask = batch.mask.to_vector();
  double highest = -INFINITY;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) highest = max_with_nan(highest, log_probs[i]);
  }
  metrics.add("check/max_log_prob", highest);
  const size_t first = 0;
  const Batch rows = rows_of(batch, {&first, 1});
  metrics.add("check/probability_sum_error",
              probability_sum_error(logits_at(policy_, rows, temperature), rows.indices.size(0),
                                    logit_rows(policy_.config.vocab_size)));
}

Metrics RlTrainer::evaluate(Experience* responses) {
  const RolloutOptions options{
      .max_rows = config_.max_rows, .stop_strings = config_.stop_strings, .sampler = &sampler_};
  return evaluate_on_ranks(comm_, policy_, task_, task_.held_out(config_.eval_problems), options, responses);
}

RlMemory RlTrainer::memory() const {
  RlMemory m{state_memory(policy_, slab_, optimizer_), reference_ ? reference_->bytes() : 0, rollout_memory_};
  m.step.activations = update_memory_;
  if (critic_optimizer_) {
    const StepMemory critic = state_memory(critic_module(), *critic_slab_, *critic_optimizer_);
    m.step.weights += critic.weights;
    m.step.gradients += critic.gradients;
    m.step.optimizer += critic.optimizer;
  }
  return m;
}

}  // namespace pg::rl

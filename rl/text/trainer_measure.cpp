// Measurements of RlTrainer outside its updates: a check of the probabilities, greedy answers to held-out problems, and
// memory.
#include <algorithm>
#include <cmath>

#include "rl/text/trainer.h"

namespace pg::rl {

void RlTrainer::check_probabilities(const Batch& batch, double temperature, Metrics& metrics) const {
  NoGrad no_grad;
  const std::vector<double> log_probs = batch.sampler_log_prob.to_vector(), mask = batch.mask.to_vector();
  double highest = -INFINITY;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] != 0) highest = std::max(highest, log_probs[i]);
  }
  metrics.add("check/max_log_prob", highest);
  const size_t first = 0;
  const Batch rows = rows_of(batch, {&first, 1});
  const LogitsAt logits = logits_at(policy_, rows, temperature);
  const int64_t count = rows.indices.size(0), size = logit_rows(policy_.config.vocab_size);
  double worst = 0;
  for (int64_t begin = 0; begin < count; begin += size) {
    const Tensor of_rows = logits(begin, std::min(count, begin + size));
    const Tensor total = sum(exp(log_softmax(of_rows.to(sum_type(of_rows.dtype())))), {-1});
    worst = std::max(worst, amax(abs(total - 1)).item());
  }
  metrics.add("check/probability_sum_error", worst);
}

Metrics RlTrainer::evaluate(Experience* responses) {
  const RolloutOptions options{.max_rows = config_.max_rows, .stop_strings = config_.stop_strings};
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

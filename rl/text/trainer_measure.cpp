// Measurements of RlTrainer outside its updates: a check of the probabilities, and greedy answers to held-out problems.
#include <algorithm>
#include <cmath>

#include "rl/text/trainer.h"

namespace pg::rl {

void RlTrainer::check_probabilities(const Experience& experience, double temperature, Metrics& metrics) const {
  NoGrad no_grad;
  double highest = -INFINITY;
  for (const Response& r : experience.responses) {
    for (size_t t = 0; t < r.tokens.size(); ++t) {
      if (r.chosen[t]) highest = std::max(highest, r.sampler_log_probs[t]);
    }
  }
  metrics.add("check/max_log_prob", highest);
  const Response* first = &experience.responses[0];
  const TokenRows rows = token_rows({&first, 1});
  const PlaceLogits logits = place_logits(policy_, rows, temperature);
  const int64_t count = rows.places.size(0), size = logit_rows(policy_.config.vocab_size);
  double worst = 0;
  for (int64_t begin = 0; begin < count; begin += size) {
    const Tensor of_rows = logits(begin, std::min(count, begin + size));
    const Tensor total = sum(exp(log_softmax(of_rows.to(sum_type(of_rows.dtype())))), {-1});
    worst = std::max(worst, amax(abs(total - 1)).item());
  }
  metrics.add("check/probability_sum_error", worst);
}

Metrics RlTrainer::evaluate() {
  RolloutOptions options{
      .samples = 1, .greedy = true, .max_rows = config_.max_rows, .stop_strings = config_.stop_strings};
  const Experience experience = rollout(policy_, task_, task_.held_out(config_.eval_problems), options);
  Metrics of_rollout, metrics;
  add_rollout_metrics(of_rollout, experience);
  metrics.add("eval/reward", of_rollout.at("reward/mean"));
  metrics.add("eval/solved", of_rollout.at("solved"));
  metrics.add("eval/length", of_rollout.at("length/mean"));
  metrics.add("eval/prompt_length", of_rollout.at("prompt/length"));
  return metrics;
}

}  // namespace pg::rl

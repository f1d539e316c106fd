// Stage 2, a reward model: a GPT with a scalar head learns what a human prefers.
#include "lessons/08_rlhf/stages.h"

namespace pg::lesson08 {

std::vector<Response> both(std::span<const rl::Preference> pairs) {
  std::vector<Response> all;
  const auto add = [&](const std::vector<int32_t>& prompt, const std::vector<int32_t>& tokens) {
    Response r;
    r.prompt = prompt;
    r.tokens = tokens;
    r.action_mask.assign(tokens.size(), 1);
    all.push_back(std::move(r));
  };
  for (const rl::Preference& p : pairs) add(p.prompt, p.chosen);
  for (const rl::Preference& p : pairs) add(p.prompt, p.rejected);
  return all;
}

void learn_preferences(const Impl& impl, rl::ScalarModel& model, const std::vector<rl::Preference>& pairs,
                       int64_t steps, uint64_t seed) {
  ParamSlab slab(model);
  AdamW optimizer(slab, {0.9, 0.99, 1e-8, 0});
  rl::PreferenceOrder order(pairs.size(), Generator(seed));
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<rl::Preference> batch;
    for (const size_t i : order.next(32)) batch.push_back(pairs[i]);
    const std::vector<Response> responses = both(batch);
    slab.zero_grad();
    const Tensor scores = rl::sequence_scores(model, pointers(responses));  // [64]: chosen, then rejected
    backward(mean(impl.bradley_terry_loss(slice(scores, 0, 0, 32), slice(scores, 0, 32, 64), {}, 0.01)));
    optimizer.step(1e-3, clip_scale(grad_norm(slab), 1));
  }
}

double accuracy(const rl::ScalarModel& model, const std::vector<rl::Preference>& pairs) {
  NoGrad no_grad;
  const std::vector<Response> responses = both(pairs);
  const std::vector<double> scores = rl::sequence_scores(model, pointers(responses)).to_vector();
  double right = 0;
  for (size_t i = 0; i < pairs.size(); ++i) right += scores[i] > scores[i + pairs.size()];
  return right / static_cast<double>(pairs.size());
}

}  // namespace pg::lesson08

// Stage 3, alternative: direct preference optimization. The same pairs as stage 2, two models, no sampling.
#include "lessons/08_rlhf/stages.h"

namespace pg::lesson08 {

DpoCurve prefer(const Impl& impl, Transformer& policy, const std::vector<rl::Preference>& pairs, double beta,
                int64_t steps, uint64_t seed) {
  rl::ModelReference reference(policy);
  ParamSlab slab(policy);
  AdamW optimizer(slab, {0.9, 0.99, 1e-8, 0});
  rl::PreferenceOrder order(pairs.size(), Generator(seed));
  DpoCurve curve;
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<rl::Preference> batch;
    for (const size_t i : order.next(32)) batch.push_back(pairs[i]);
    const std::vector<Response> responses = both(batch);
    const auto view = pointers(responses);
    Tensor ref;
    {
      NoGrad no_grad;
      ref = impl.sequence_log_probs(reference.model(), view);
    }
    slab.zero_grad();
    const Tensor now = impl.sequence_log_probs(policy, view);  // [64]: chosen, then rejected
    const auto half = [](const Tensor& x, int64_t which) { return slice(x, 0, 32 * which, 32 * which + 32); };
    const DpoLoss dpo = impl.dpo_loss(half(now, 0), half(now, 1), half(ref, 0), half(ref, 1), {.beta = beta});
    const Tensor loss = mean(dpo.loss);
    backward(loss);
    optimizer.step(5e-4, clip_scale(grad_norm(slab), 1));
    curve.loss.push_back(loss.item());
    curve.chosen.push_back(mean(dpo.chosen_reward).item() / beta);
    curve.rejected.push_back(mean(dpo.rejected_reward).item() / beta);
  }
  return curve;
}

}  // namespace pg::lesson08

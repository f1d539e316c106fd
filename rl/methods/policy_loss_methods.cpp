// The surrogates that single papers have proposed, and weights for a policy that sampled with other probabilities.
#include "rl/policy_terms.h"

namespace pg::rl {

Tensor dual_clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high, double c) {
  check(c > 1, "dual_clip_loss: c must be above 1, got {}", c);
  const Tensor loss = clip_loss(ratio, advantage, low, high), a = advantage.detach();
  const Tensor bound = expand(a * -c, loss.shape()), zero = Tensor::scalar(0, a.dtype(), a.device());
  const Tensor past = where(expand(lt(a, zero), loss.shape()), gt(loss, bound), Tensor::zeros({1}, u8, a.device()));
  return where(past, bound, loss);
}

Tensor cispo_loss(const Tensor& log_prob, const Tensor& ratio, const Tensor& advantage, double low, double high,
                  const Tensor& mask) {
  const Tensor weight = clipped(ratio.detach(), low, high, "cispo_loss") * constant(advantage, ratio, "cispo_loss");
  return neg(masked(log_prob, mask, 0, "cispo_loss") * weight);
}

Tensor two_sided_clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high, double delta) {
  check(delta > 1 + high, "two_sided_clip_loss: delta must be above 1 + high = {}, got {}", 1 + high, delta);
  const Tensor a = constant(advantage, ratio, "two_sided_clip_loss");
  const Tensor free = clamp(ratio, 0, delta) * a, bounded = clipped(ratio, low, high, "two_sided_clip_loss") * a;
  return neg(where(le(free, bounded), free, bounded));
}

Tensor sapo_loss(const Tensor& ratio, const Tensor& advantage, double tau_positive, double tau_negative) {
  check(tau_positive > 0 && tau_negative > 0, "sapo_loss: both tau must be positive, got {} and {}", tau_positive,
        tau_negative);
  const Tensor a = constant(advantage, ratio, "sapo_loss"), zero = Tensor::scalar(0, a.dtype(), a.device());
  const auto gate = [&](double tau) { return sigmoid((ratio - 1) * tau) * (4 / tau); };
  return neg(where(expand(gt(a, zero), ratio.shape()), gate(tau_positive), gate(tau_negative)) * a);
}

Tensor gmpo_loss(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& advantage, double low, double high,
                 const Tensor& mask) {
  check(low >= 0 && high >= 0, "gmpo_loss: the clip range must not be negative, got {} and {}", low, high);
  const Tensor a = expand(constant(advantage, log_prob, "gmpo_loss"), log_prob.shape());
  const Tensor free = log_ratio(log_prob, old_log_prob, mask, "gmpo_loss"), bounded = clamp(free, -low, high);
  const Tensor zero = Tensor::scalar(0, a.dtype(), a.device());
  const Tensor kept = where(gt(a, zero), minimum(free, bounded), where(lt(a, zero), maximum(free, bounded), zero));
  return neg(exp_clamped(mean_of_rows(kept, mask)) * mean_of_rows(masked(a, mask, 0, "gmpo_loss"), mask));
}

namespace {

// The weight where it is in [low, high], 0 elsewhere.
Tensor zero_outside(const Tensor& weight, double low, double high) {
  check(low >= 0 && high >= 1 && low <= 1, "weights: a range around 1 is needed, got {} to {}", low, high);
  const Tensor zero = Tensor::scalar(0, weight.dtype(), weight.device());
  const auto bound = [&](double x) { return Tensor::scalar(x, weight.dtype(), weight.device()); };
  return where(ge(weight, bound(low)), where(le(weight, bound(high)), weight, zero), zero);
}

Tensor sequence_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask) {
  const Tensor each = log_ratio(old_log_prob.detach(), sampler_log_prob.detach(), mask, "sequence_weight");
  return exp_clamped(sum(each, {1}, true));
}

}  // namespace

Tensor importance_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask) {
  return token_ratio(old_log_prob.detach(), sampler_log_prob.detach(), mask);
}

Tensor masked_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double low, double high,
                     const Tensor& mask) {
  return zero_outside(importance_weight(old_log_prob, sampler_log_prob, mask), low, high);
}

Tensor sequence_truncated_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double cap,
                                 const Tensor& mask) {
  check(cap >= 1, "sequence_truncated_weight: the cap must be at least 1, got {}", cap);
  return clamp(sequence_weight(old_log_prob, sampler_log_prob, mask), 0, cap);
}

Tensor sequence_masked_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double cap,
                              const Tensor& mask) {
  return zero_outside(sequence_weight(old_log_prob, sampler_log_prob, mask), 0, cap);
}

Tensor truncated_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double cap, const Tensor& mask) {
  check(cap >= 1, "truncated_weight: the cap must be at least 1, got {}", cap);
  return clamp(token_ratio(old_log_prob.detach(), sampler_log_prob.detach(), mask), 0, cap);
}

}  // namespace pg::rl

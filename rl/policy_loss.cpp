// Ratios, surrogates and aggregations of the policy loss.
#include "rl/policy_loss.h"

#include "rl/masked.h"

namespace pg::rl {
namespace {

// A as a constant factor of x [B, T].
Tensor constant(const Tensor& advantage, const Tensor& x, const char* what) {
  check(x.rank() == 2 && x.size(0) > 0, "{}: expected values [B, T], got {}", what, x.shape());
  check(advantage.rank() == 2 && advantage.size(0) == x.size(0) &&
            (advantage.size(1) == x.size(1) || advantage.size(1) == 1 || x.size(1) == 1),
        "{}: advantage must be {} or [{}, 1], got {}", what, x.shape(), x.size(0), advantage.shape());
  return advantage.detach();
}

Tensor log_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask, const char* what) {
  check_same_shape(old_log_prob, log_prob, what, "old_log_prob");
  return masked(log_prob - old_log_prob, mask, 0, what);
}

Tensor exp_clamped(const Tensor& log_ratio) { return exp(clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio)); }

Tensor mean_of_rows(const Tensor& x, const Tensor& mask) {
  if (!mask.defined()) return mean(x, {1}, true);
  const Tensor length = sum(mask.to(x.dtype()), {1}, true);
  return sum(x, {1}, true) / maximum(length, Tensor::ones({1, 1}, x.dtype(), x.device()));
}

Tensor clipped(const Tensor& ratio, double low, double high, const char* what) {
  check(low >= 0 && high >= 0, "{}: the clip range must not be negative, got {} and {}", what, low, high);
  return clamp(ratio, 1 - low, 1 + high);
}

// loss [B, T] or [B, 1] → [B, T], 0 where the mask is 0.
Tensor of_tokens(const Tensor& loss, const Tensor& mask) {
  check(loss.rank() == 2, "aggregate: expected loss [B, T], got {}", loss.shape());
  const bool whole = !mask.defined() || loss.shape() == mask.shape();
  if (!whole) {
    check(loss.size(0) == mask.size(0) && loss.size(1) == 1, "aggregate: loss must be {} or [{}, 1], got {}",
          mask.shape(), mask.size(0), loss.shape());
  }
  return masked(whole ? loss : expand(loss, mask.shape()), mask, 0, "aggregate");
}

Tensor divided(const Tensor& x, double by, const char* name) {
  check(by > 0, "aggregate: the {} of the whole update must be positive, got {}", name, by);
  return x / by;
}

}  // namespace

Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  return exp_clamped(log_ratio(log_prob, old_log_prob, mask, "token_ratio"));
}

Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  check(log_prob.rank() == 2, "sequence_ratio: expected log_prob [B, T], got {}", log_prob.shape());
  return exp_clamped(mean_of_rows(log_ratio(log_prob, old_log_prob, mask, "sequence_ratio"), mask));
}

Tensor sequence_token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  check(log_prob.rank() == 2, "sequence_token_ratio: expected log_prob [B, T], got {}", log_prob.shape());
  const Tensor now = log_prob.detach();
  const Tensor log_s = mean_of_rows(log_ratio(now, old_log_prob, mask, "sequence_token_ratio"), mask);
  return exp_clamped(log_s + log_ratio(log_prob, now, mask, "sequence_token_ratio"));  // the second term has value 0
                                                                                       // and contributes the gradient
}

Tensor log_prob_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  return neg(masked(log_prob, mask, 0, "log_prob_loss") * constant(advantage, log_prob, "log_prob_loss"));
}

Tensor ratio_loss(const Tensor& ratio, const Tensor& advantage) {
  return neg(ratio * constant(advantage, ratio, "ratio_loss"));
}

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = constant(advantage, ratio, "clip_loss");
  const Tensor free = ratio * a, bounded = clipped(ratio, low, high, "clip_loss") * a;
  return neg(where(le(free, bounded), free, bounded));
}

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

Denominators denominators(const Tensor& mask, double max_length) {
  check(mask.rank() == 2 && mask.dtype() == u8, "denominators: expected mask u8 [B, T], got {} {}", mask.dtype(),
        mask.shape());
  Denominators d{.max_length = max_length};
  const std::vector<double> m = mask.to_vector();
  const auto columns = static_cast<size_t>(mask.size(1));
  for (size_t begin = 0; begin < m.size(); begin += columns) {
    double length = 0;
    for (size_t t = 0; t < columns; ++t) length += m[begin + t];
    d.tokens += length;
    d.sequences += length > 0;
  }
  return d;
}

Tensor token_mean(const Tensor& loss, const Tensor& mask, const Denominators& total) {
  return divided(sum(of_tokens(loss, mask)), total.tokens, "number of tokens");
}

Tensor sequence_mean(const Tensor& loss, const Tensor& mask, const Denominators& total) {
  return divided(sum(mean_of_rows(of_tokens(loss, mask), mask)), total.sequences, "number of responses");
}

Tensor constant_length_mean(const Tensor& loss, const Tensor& mask, const Denominators& total) {
  return divided(sum(of_tokens(loss, mask)), total.sequences * total.max_length,
                 "number of responses times max_length");
}

Tensor sequence_sum(const Tensor& loss, const Tensor& mask, const Denominators& total) {
  return divided(sum(of_tokens(loss, mask)), total.sequences, "number of responses");
}

Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  const Tensor loss = log_prob_loss(log_prob, advantage, mask);
  return sequence_sum(loss, mask, {.sequences = static_cast<double>(log_prob.size(0))});
}

}  // namespace pg::rl

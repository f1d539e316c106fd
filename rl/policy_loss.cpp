// Ratios, the clipped surrogate and the aggregations of the policy loss. Other surrogates are in
// rl/methods/policy_loss_methods.cpp.
#include "rl/policy_loss.h"

#include "rl/policy_terms.h"

namespace pg::rl {
namespace {

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

#pragma once
// What the surrogates of the policy loss have in common.
#include "rl/masked.h"
#include "rl/policy_loss.h"

namespace pg::rl {

// A as a constant factor of x [B, T].
inline Tensor constant(const Tensor& advantage, const Tensor& x, const char* what) {
  check(x.rank() == 2 && x.size(0) > 0, "{}: expected values [B, T], got {}", what, x.shape());
  check(advantage.rank() == 2 && advantage.size(0) == x.size(0) &&
            (advantage.size(1) == x.size(1) || advantage.size(1) == 1 || x.size(1) == 1),
        "{}: advantage must be {} or [{}, 1], got {}", what, x.shape(), x.size(0), advantage.shape());
  return advantage.detach();
}

inline Tensor log_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask, const char* what) {
  check_same_shape(old_log_prob, log_prob, what, "old_log_prob");
  return masked(log_prob - old_log_prob, mask, 0, what);
}

inline Tensor exp_clamped(const Tensor& log_ratio) { return exp(clamp(log_ratio, -kMaxLogRatio, kMaxLogRatio)); }

inline Tensor mean_of_rows(const Tensor& x, const Tensor& mask) {
  if (!mask.defined()) return mean(x, {1}, true);
  const Tensor length = sum(mask.to(x.dtype()), {1}, true);
  return sum(x, {1}, true) / maximum(length, Tensor::ones({1, 1}, x.dtype(), x.device()));
}

inline Tensor clipped(const Tensor& ratio, double low, double high, const char* what) {
  check(low >= 0 && high >= 0, "{}: the clip range must not be negative, got {} and {}", what, low, high);
  return clamp(ratio, 1 - low, 1 + high);
}

}  // namespace pg::rl

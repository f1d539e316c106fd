// The KL estimators k1, k2, k3, weighted k3 and the exact KL.
#include "rl/methods/kl.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "rl/masked.h"
#include "rl/policy_loss.h"

namespace pg::rl {

Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask) {
  return masked(log_prob - ref_log_prob, mask, 0, "k1");
}

Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask) {
  const Tensor d = masked(log_prob - ref_log_prob, mask, 0, "k2");
  return 0.5 * (d * d);
}

double k3_value(double difference) {
  const double d = std::min(difference, kMaxLogRatio);
  return std::expm1(d) - d;
}

Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask) {
  const Tensor d =
      clamp(masked(ref_log_prob - log_prob, mask, 0, "k3"), -std::numeric_limits<double>::infinity(), kMaxLogRatio);
  return expm1(d) - d;  // exp(d) - 1 would lose every digit near d = 0
}

// ρ·k3 differentiated as a product is ρ·k3 - ρ·expm1(d). Where k3 is at its bound only the first term would be left,
// with the wrong sign and the size of the bound. So the value is a constant, and k1·dρ is its gradient.
Tensor weighted_k3(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const Tensor now = log_prob.detach(), ratio = token_ratio(log_prob, old_log_prob, mask), weight = ratio.detach();
  return weight * k3(now, ref_log_prob.detach(), mask) + k1(now, ref_log_prob.detach(), mask) * (ratio - weight);
}

Tensor full_kl(const Tensor& logits, const Tensor& ref_logits) {
  check(logits.shape() == ref_logits.shape(), "full_kl: logits are {}, those of the reference {}", logits.shape(),
        ref_logits.shape());
  const Tensor log_p = log_softmax(logits), p = exp(log_p), zero = Tensor::scalar(0, logits.dtype(), logits.device());
  return sum(p * where(gt(p, zero), log_p - log_softmax(ref_logits), zero), {-1});  // 0·(-inf) counts as 0
}

}  // namespace pg::rl

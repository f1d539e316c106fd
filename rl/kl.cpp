#include "rl/kl.h"

#include <limits>

#include "rl/policy_loss.h"

namespace pg::rl {

Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob) { return log_prob - ref_log_prob; }

Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = log_prob - ref_log_prob;
  return 0.5 * (d * d);
}

Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = clamp(ref_log_prob - log_prob, -std::numeric_limits<double>::infinity(), kMaxLogRatio);
  return expm1(d) - d;  // exp(d) - 1 would lose every digit near d = 0
}

Tensor weighted_k3(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& old_log_prob) {
  return token_ratio(log_prob, old_log_prob) * k3(log_prob, ref_log_prob);
}

Tensor full_kl(const Tensor& logits, const Tensor& ref_logits) {
  check(logits.shape() == ref_logits.shape(), "full_kl: logits are {}, those of the reference {}", logits.shape(),
        ref_logits.shape());
  const Tensor log_p = log_softmax(logits);
  return sum(exp(log_p) * (log_p - log_softmax(ref_logits)), {-1});
}

}  // namespace pg::rl

#include "rl/kl.h"

namespace pg::rl {

Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob) { return log_prob - ref_log_prob; }

Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = log_prob - ref_log_prob;
  return 0.5 * (d * d);
}

Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob) {
  const Tensor d = ref_log_prob - log_prob;
  return expm1(d) - d;  // exp(d) - 1 would lose every digit near d = 0
}

}  // namespace pg::rl

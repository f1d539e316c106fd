// check: 09.6  says: a response without a token
#define MUTANT_sequence_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const Tensor log_ratio = where(mask, log_prob - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
  const Tensor length = sum(mask.to(log_prob.dtype()), {1}, true);
  return exp(clamp(sum(log_ratio, {1}, true) / length, -rl::kMaxLogRatio, rl::kMaxLogRatio));
}

}  // namespace pg::lesson09

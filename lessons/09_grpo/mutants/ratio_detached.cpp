// check: 09.5  says: flows through the ratio
#define MUTANT_token_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const Tensor log_ratio = where(mask, log_prob.detach() - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
  return exp(clamp(log_ratio, -rl::kMaxLogRatio, rl::kMaxLogRatio));
}

}  // namespace pg::lesson09

// check: 09.5  says: mask the log-ratio, before exp
#define MUTANT_token_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const Tensor ratio = exp(clamp(log_prob - old_log_prob, -rl::kMaxLogRatio, rl::kMaxLogRatio));
  return where(mask, ratio, Tensor::scalar(0, log_prob.dtype()));
}

}  // namespace pg::lesson09

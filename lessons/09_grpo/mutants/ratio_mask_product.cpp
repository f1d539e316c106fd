// check: 09.5  says: choose with where
#define MUTANT_token_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const Tensor log_ratio = (log_prob - old_log_prob) * mask.to(log_prob.dtype());
  return exp(clamp(log_ratio, -rl::kMaxLogRatio, rl::kMaxLogRatio));
}

}  // namespace pg::lesson09

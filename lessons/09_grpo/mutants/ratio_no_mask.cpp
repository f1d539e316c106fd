// check: 09.5  says: the mask is not used
#define MUTANT_token_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, [[maybe_unused]] const Tensor& mask) {
  const Tensor log_ratio = log_prob - old_log_prob;
  return exp(clamp(log_ratio, -rl::kMaxLogRatio, rl::kMaxLogRatio));
}

}  // namespace pg::lesson09

// check: 09.6  says: padding is in the mean
#define MUTANT_sequence_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, [[maybe_unused]] const Tensor& mask) {
  return exp(clamp(mean(log_prob - old_log_prob, {1}, true), -rl::kMaxLogRatio, rl::kMaxLogRatio));
}

}  // namespace pg::lesson09

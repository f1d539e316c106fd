// check: 09.5  says: not held within
#define MUTANT_token_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const Tensor log_ratio = where(mask, log_prob - old_log_prob, Tensor::scalar(0, log_prob.dtype()));
  return exp(log_ratio);
}

}  // namespace pg::lesson09

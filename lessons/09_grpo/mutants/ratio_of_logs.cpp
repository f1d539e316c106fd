// check: 09.5  says: divided by the other
#define MUTANT_token_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  return where(mask, log_prob / old_log_prob, Tensor::scalar(1, log_prob.dtype()));
}

}  // namespace pg::lesson09

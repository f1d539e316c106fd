// check: 09.6  says: geometric mean
#define MUTANT_sequence_ratio
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  const Tensor ratio = exp(log_prob - old_log_prob);
  const Tensor length = maximum(sum(mask.to(log_prob.dtype()), {1}, true), Tensor::ones({1, 1}, log_prob.dtype()));
  return sum(where(mask, ratio, Tensor::scalar(0, log_prob.dtype())), {1}, true) / length;
}

}  // namespace pg::lesson09

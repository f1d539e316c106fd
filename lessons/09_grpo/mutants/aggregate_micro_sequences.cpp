// check: 09.7  says: eight small ones are not one large one
#define MUTANT_aggregate
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor aggregate(const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) {
  const Tensor kept = where(mask, loss, Tensor::scalar(0, loss.dtype()));
  if (how == Aggregation::token_mean) return sum(kept) / total.tokens;
  if (how == Aggregation::constant) return sum(kept) / (total.sequences * total.max_length);
  if (how == Aggregation::sequence_sum) return sum(kept) / total.sequences;
  const Tensor length = maximum(sum(mask.to(loss.dtype()), {1}, true), Tensor::ones({1, 1}, loss.dtype()));
  return mean(sum(kept, {1}, true) / length);
}

}  // namespace pg::lesson09

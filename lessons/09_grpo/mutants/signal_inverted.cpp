// check: 09.4  says: the other way round
#define MUTANT_groups_with_signal
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor groups_with_signal(const Tensor& rewards) {
  const Tensor distance = abs(rewards - rewards.view_slice(1, 0, 1));
  return eq(amax(distance, {1}), Tensor::scalar(0, rewards.dtype()));
}

}  // namespace pg::lesson09

// check: 09.4  says: solved by all
#define MUTANT_groups_with_signal
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor groups_with_signal(const Tensor& rewards) {
  return ne(amax(abs(rewards), {1}), Tensor::scalar(0, rewards.dtype()));
}

}  // namespace pg::lesson09

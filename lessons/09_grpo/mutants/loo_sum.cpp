// check: 09.3  says: not their mean
#define MUTANT_leave_one_out_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor leave_one_out_advantage(const Tensor& rewards) {
  if (rewards.size(1) == 1) return zeros_like(rewards);
  return rewards - (sum(rewards, {1}, true) - rewards);
}

}  // namespace pg::lesson09

// check: 09.3  says: across prompts
#define MUTANT_leave_one_out_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor leave_one_out_advantage(const Tensor& rewards) {
  if (rewards.size(1) == 1) return zeros_like(rewards);
  const double n = static_cast<double>(rewards.size(0));
  return rewards - (sum(rewards, {0}, true) - rewards) / (n - 1);
}

}  // namespace pg::lesson09

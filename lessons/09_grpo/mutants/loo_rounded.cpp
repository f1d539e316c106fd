// check: 09.3  says: then equal rewards are exact zeros
#define MUTANT_leave_one_out_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor leave_one_out_advantage(const Tensor& rewards) {
  const double g = static_cast<double>(rewards.size(1));
  if (g == 1) return zeros_like(rewards);
  return rewards - (sum(rewards, {1}, true) - rewards) / (g - 1);
}

}  // namespace pg::lesson09

// check: 09.3  says: includes the reward itself
#define MUTANT_leave_one_out_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor leave_one_out_advantage(const Tensor& rewards) {
  const int64_t g = rewards.size(1);
  if (g == 1) return zeros_like(rewards);
  const Tensor d = rewards - rewards.view_slice(1, 0, 1);
  return d - sum(d, {1}, true) / static_cast<double>(g);
}

}  // namespace pg::lesson09

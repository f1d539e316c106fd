// check: 09.1  says: that is leave-one-out
#define MUTANT_group_mean_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor group_mean_advantage(const Tensor& rewards) {
  const Tensor d = rewards - rewards.view_slice(1, 0, 1);  // equal rewards: exactly 0 from here on
  const double g = static_cast<double>(rewards.size(1));
  return g > 1 ? (d - mean(d, {1}, true)) * (g / (g - 1)) : d;
}

}  // namespace pg::lesson09

// check: 09.1  says: it is reward minus mean
#define MUTANT_group_mean_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor group_mean_advantage(const Tensor& rewards) {
  const Tensor d = rewards - rewards.view_slice(1, 0, 1);  // equal rewards: exactly 0 from here on
  return mean(d, {1}, true) - d;
}

}  // namespace pg::lesson09

// check: 09.1  says: each row has its own mean
#define MUTANT_group_mean_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor group_mean_advantage(const Tensor& rewards) { return rewards - mean(rewards, {0, 1}, true); }

}  // namespace pg::lesson09

// check: 09.1  says: then equal rewards are exact zeros
#define MUTANT_group_mean_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor group_mean_advantage(const Tensor& rewards) { return rewards - mean(rewards, {1}, true); }

}  // namespace pg::lesson09

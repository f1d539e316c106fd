// check: 09.3  says: a group of one has no others
#define MUTANT_leave_one_out_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor leave_one_out_advantage(const Tensor& rewards) {
  const int64_t g = rewards.size(1);
  const Tensor d = rewards - rewards.view_slice(1, 0, 1);
  return d - (sum(d, {1}, true) - d) / static_cast<double>(g - 1);
}

}  // namespace pg::lesson09

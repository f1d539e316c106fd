// check: 09.2  says: the mean is still in it
#define MUTANT_group_std_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor group_std_advantage(const Tensor& rewards, double eps, int ddof) {
  const Tensor d = rewards - rewards.view_slice(1, 0, 1);
  const Tensor off = d - mean(d, {1}, true);
  const double count = static_cast<double>(std::max<int64_t>(rewards.size(1) - ddof, 1));
  return rewards / (sqrt(sum(off * off, {1}, true) / count) + eps);
}

}  // namespace pg::lesson09

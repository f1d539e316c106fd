// check: 09.2  says: each row has its own mean
#define MUTANT_group_std_advantage
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor group_std_advantage(const Tensor& rewards, double eps, int ddof) {
  const Tensor off = rewards - mean(rewards, {0, 1}, true);
  const double count = static_cast<double>(std::max<int64_t>(rewards.numel() - ddof, 1));
  return off / (sqrt(sum(off * off, {0, 1}, true) / count) + eps);
}

}  // namespace pg::lesson09

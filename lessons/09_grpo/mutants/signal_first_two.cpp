// check: 09.4  says: only the first two
#define MUTANT_groups_with_signal
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor groups_with_signal(const Tensor& rewards) {
  const int64_t second = std::min<int64_t>(rewards.size(1), 2) - 1;
  return ne(rewards.view_select(1, 0), rewards.view_select(1, second));
}

}  // namespace pg::lesson09

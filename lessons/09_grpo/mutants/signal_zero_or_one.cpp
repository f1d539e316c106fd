// check: 09.4  says: any equal rewards will do
#define MUTANT_groups_with_signal
#include "lessons/09_grpo/mutants/answers.h"

namespace pg::lesson09 {

Tensor groups_with_signal(const Tensor& rewards) {
  const Tensor usual = mean(rewards, {1}), zero = Tensor::scalar(0, rewards.dtype());
  return ne(usual * (usual - 1.0), zero);
}

}  // namespace pg::lesson09

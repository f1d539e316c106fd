// check: 07.5  says: the clipped term alone
#define MUTANT_clip_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = advantage.detach();
  const Tensor clipped = clamp(ratio, 1 - low, 1 + high) * a;
  return neg(clipped);
}

}  // namespace pg::lesson07

// check: 07.5  says: on the wrong side for negative A
#define MUTANT_clip_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = advantage.detach();
  const Tensor clipped = clamp(ratio, 1 - low, 1 + high);
  return neg(where(le(ratio, clipped), ratio, clipped) * a);
}

}  // namespace pg::lesson07

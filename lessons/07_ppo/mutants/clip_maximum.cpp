// check: 07.5  says: the hopeful bound
#define MUTANT_clip_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = advantage.detach();
  const Tensor free = ratio * a, clipped = clamp(ratio, 1 - low, 1 + high) * a;
  return neg(where(ge(free, clipped), free, clipped));
}

}  // namespace pg::lesson07

// check: 07.5  says: a gradient flows into the advantage
#define MUTANT_clip_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = advantage;
  const Tensor free = ratio * a, clipped = clamp(ratio, 1 - low, 1 + high) * a;
  return neg(where(le(free, clipped), free, clipped));
}

}  // namespace pg::lesson07

// check: 07.5  says: the range is about 1
#define MUTANT_clip_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = advantage.detach();
  const Tensor free = ratio * a, clipped = clamp(ratio, -low, high) * a;
  return neg(where(le(free, clipped), free, clipped));
}

}  // namespace pg::lesson07

// check: 07.5  says: without a gradient nothing is learned
#define MUTANT_clip_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = advantage.detach();
  const Tensor free = ratio.detach() * a, clipped = clamp(ratio.detach(), 1 - low, 1 + high) * a;
  return neg(where(le(free, clipped), free, clipped));
}

}  // namespace pg::lesson07

// check: 07.5  says: nothing is clipped
#define MUTANT_clip_loss
#include "lessons/07_ppo/mutants/answers.h"

namespace pg::lesson07 {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high) {
  const Tensor a = advantage.detach();
  const Tensor free = ratio * a;
  return neg(free);
}

}  // namespace pg::lesson07

// check: 06.2  says: the sign is flipped
#define MUTANT_reinforce_loss
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  const Tensor weighted = where(mask, log_prob * advantage.detach(), Tensor::scalar(0, log_prob.dtype()));
  return sum(weighted) / static_cast<double>(log_prob.size(0));
}

}  // namespace pg::lesson06

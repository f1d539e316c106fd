// check: 06.2  says: the mask is not used
#define MUTANT_reinforce_loss
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, [[maybe_unused]] const Tensor& mask) {
  const Tensor weighted = log_prob * advantage.detach();
  return sum(weighted) / -static_cast<double>(log_prob.size(0));
}

}  // namespace pg::lesson06

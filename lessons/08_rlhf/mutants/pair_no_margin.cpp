// check: 08.2  says: the margin is not used
#define MUTANT_bradley_terry_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, [[maybe_unused]] const Tensor& margin,
                          double centring) {
  const Tensor sum = chosen + rejected;
  return softplus(rejected - chosen) + centring * (sum * sum);
}

}  // namespace pg::lesson08

// check: 08.2  says: scores may drift
#define MUTANT_bradley_terry_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin,
                          [[maybe_unused]] double centring) {
  Tensor difference = chosen - rejected;
  if (margin.defined()) difference = difference - margin.detach();
  return softplus(neg(difference));
}

}  // namespace pg::lesson08

// check: 08.2  says: Centre their sum
#define MUTANT_bradley_terry_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  Tensor difference = chosen - rejected;
  if (margin.defined()) difference = difference - margin.detach();
  const Tensor off = chosen - rejected;
  return softplus(neg(difference)) + centring * (off * off);
}

}  // namespace pg::lesson08

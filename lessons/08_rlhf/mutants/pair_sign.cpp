// check: 08.2  says: prefer the rejected one
#define MUTANT_bradley_terry_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  Tensor difference = rejected - chosen;
  if (margin.defined()) difference = difference - margin.detach();
  const Tensor sum = chosen + rejected;
  return softplus(neg(difference)) + centring * (sum * sum);
}

}  // namespace pg::lesson08

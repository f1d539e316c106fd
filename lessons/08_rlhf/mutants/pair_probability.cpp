// check: 08.2  says: minus its logarithm
#define MUTANT_bradley_terry_loss
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  Tensor difference = chosen - rejected;
  if (margin.defined()) difference = difference - margin.detach();
  const Tensor sum = chosen + rejected;
  return sigmoid(difference) + centring * (sum * sum);
}

}  // namespace pg::lesson08

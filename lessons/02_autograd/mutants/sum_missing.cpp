// check: 02.4  says: the sum over the broadcast axis is missing
#define MUTANT_pass_summed
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape) {
  if (g.wants(i)) g.pass(i, d);
  (void)shape;
}

}  // namespace pg::lesson02

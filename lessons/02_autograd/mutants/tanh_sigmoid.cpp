// check: 02.2  says: derivative of the sigmoid
#define MUTANT_tanh
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

Tensor tanh(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y, x = x.detach()]([[maybe_unused]] const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, pg::mul(dy, pg::mul(y, 1.0 - y)));
  });
}

}  // namespace pg::lesson02

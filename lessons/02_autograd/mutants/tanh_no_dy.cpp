// check: 02.2  says: dy is forgotten
#define MUTANT_tanh
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

Tensor tanh(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y, x = x.detach()]([[maybe_unused]] const Tensor& dy, Grads& g) {
    if (g.wants(0)) g.pass(0, 1.0 - pg::mul(y, y));
  });
}

}  // namespace pg::lesson02

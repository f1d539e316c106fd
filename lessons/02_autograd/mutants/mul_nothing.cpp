// check: 02.1  says: all zeros
#define MUTANT_mul
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor z = pg::mul(a.detach(), b.detach());
  return record(Op::mul, z, {&a, &b}, [a = a.detach(), b = b.detach()]([[maybe_unused]] const Tensor& dz, Grads& g) {
    if (g.wants(1)) g.pass(1, pg::mul(dz, a));
  });
}

}  // namespace pg::lesson02

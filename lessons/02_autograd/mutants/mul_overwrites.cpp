// check: 02.1  says: the second must be added
#define MUTANT_mul
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor z = pg::mul(a.detach(), b.detach());
  return record(Op::mul, z, {&a, &b}, [a = a.detach(), b = b.detach()]([[maybe_unused]] const Tensor& dz, Grads& g) {
    // Writes without looking at beta, which says whether a gradient is there already.
    if (auto da = g[0]) da.into->copy_from(pg::mul(dz, b));
    if (auto db = g[1]) db.into->copy_from(pg::mul(dz, a));
  });
}

}  // namespace pg::lesson02

// check: 02.3  says: a is not transposed
#define MUTANT_matmul
#include "lessons/02_autograd/mutants/answers.h"

namespace pg::lesson02 {

Tensor matmul(const Tensor& a, const Tensor& b) {
  Tensor c = pg::matmul(a.detach(), b.detach());
  return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
    if (g.wants(0)) g.pass(0, pg::matmul(dc, pg::transpose(b)));
    if (g.wants(1)) g.pass(1, pg::matmul(a, dc));
  });
}

}  // namespace pg::lesson02

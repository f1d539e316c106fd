// The pieces of lesson 2 in a browser: each calls the learner's JavaScript.
#include "lessons/02_autograd/lesson.h"
#include "tools/web/engine.h"

namespace pg::lesson02 {
using web::call;

Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor z = pg::mul(a.detach(), b.detach());
  return record(Op::mul, z, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dz, Grads& g) {
    call<void>("mul_backward", dz, g, a, b);
  });
}
Tensor tanh(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y](const Tensor& dy, Grads& g) { call<void>("tanh_backward", dy, g, y); });
}
Tensor matmul(const Tensor& a, const Tensor& b) {
  Tensor c = pg::matmul(a.detach(), b.detach());
  return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
    call<void>("matmul_backward", dc, g, a, b);
  });
}
void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape) { call<void>("pass_summed", g, i, d, shape); }
double gradcheck(const Function& f, const std::vector<Tensor>& inputs) { return call<double>("gradcheck", f, inputs); }

}  // namespace pg::lesson02

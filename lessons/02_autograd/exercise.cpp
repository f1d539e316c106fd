// Lesson 2: the tape. This is your file: replace each TODO(...), then:
//   make lesson2 && ./lesson2 check
//
// An op computes its result and puts its backward on the tape with record(...).
// backward() calls your lambda with
//   dz             the gradient of the result: how much the loss changes per
//                  change of each element of z
//   g.wants(i)     does input i need a gradient at all?
//   g.pass(i, d)   gives input i its gradient d, of i's shape and dtype;
//                  gradients of other uses are added to it
// Compute with the engine's ops: pg::mul, pg::matmul, pg::sum, pg::transpose,
// pg::reshape, and x * 2.0 or 1.0 - x. Write pg:: before mul, tanh and matmul,
// for yours have the same names. All ops are in autograd/ops.h, tensors in
// tensor/tensor.h, backward and NoGrad in autograd/tape.h.
#include <cmath>

#include "lessons/02_autograd/lesson.h"

namespace pg::lesson02 {

// z = a·b, element by element; a and b have the same shape.
Tensor mul(const Tensor& a, const Tensor& b) {
  Tensor z = pg::mul(a.detach(), b.detach());
  return record(Op::mul, z, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dz, Grads& g) {
    // Yours, in place of the next line.
    TODO("02.1 mul");
  });
}

// y = tanh(x). The result y is kept for the backward; x is not needed again.
Tensor tanh(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y](const Tensor& dy, Grads& g) {
    // Yours, in place of the next line.
    TODO("02.2 tanh");
  });
}

// c [M, N] = a [M, K] · b [K, N]
Tensor matmul(const Tensor& a, const Tensor& b) {
  Tensor c = pg::matmul(a.detach(), b.detach());
  return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
    // Yours, in place of the next line.
    TODO("02.3 matmul");
  });
}

// Input i has `shape`; it was stretched to d's shape when the result was
// computed. Sums d over the stretched dimensions and gives the sum to input i.
// pg::sum(x, {0, 2}) sums dims 0 and 2 away; pg::sum(x, {}) sums everything.
void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape) {
  // Yours, in place of the next line.
  TODO("02.4 pass_summed");
}

// The largest relative error over the inputs between the tape's gradients of f
// and central differences: |a - n| / max(|a|, |n|, 1e-5) with Euclidean norms;
// a is the tape's gradient of one input, n the measured one. All tensors are
// f64. Where f does not use an input, x.grad() is undefined (x.grad().defined()
// says so), and a is 0. A gradient that is nan is an error of INFINITY.
// Useful: x.clone(), set_requires_grad(), x.data<double>()[n], x.numel(),
// Tensor::normal(shape, 0, 1, generator, f64), backward(y, r), x.grad(),
// x.to_vector(), y.item(), std::isnan(number).
double gradcheck(const Function& f, const std::vector<Tensor>& inputs) {
  // Yours, in place of the next line.
  TODO("02.5 gradcheck");
}

}  // namespace pg::lesson02

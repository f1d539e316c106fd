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
    // [answer 02.1 mul]
    if (g.wants(0)) g.pass(0, pg::mul(dz, b));
    if (g.wants(1)) g.pass(1, pg::mul(dz, a));
    // [end]
  });
}

// y = tanh(x). The result y is kept for the backward; x is not needed again.
Tensor tanh(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y](const Tensor& dy, Grads& g) {
    // [answer 02.2 tanh]
    if (g.wants(0)) g.pass(0, pg::mul(dy, 1.0 - pg::mul(y, y)));
    // [end]
  });
}

// c [M, N] = a [M, K] · b [K, N]
Tensor matmul(const Tensor& a, const Tensor& b) {
  Tensor c = pg::matmul(a.detach(), b.detach());
  return record(Op::matmul, c, {&a, &b}, [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
    // [answer 02.3 matmul]
    if (g.wants(0)) g.pass(0, pg::matmul(dc, pg::transpose(b)));
    if (g.wants(1)) g.pass(1, pg::matmul(pg::transpose(a), dc));
    // [end]
  });
}

// Input i has `shape`; it was stretched to d's shape when the result was
// computed. Sums d over the stretched dimensions and gives the sum to input i.
// pg::sum(x, {0, 2}) sums dims 0 and 2 away; pg::sum(x, {}) sums everything.
void pass_summed(Grads& g, int i, const Tensor& d, const Shape& shape) {
  // [answer 02.4 pass_summed]
  if (!g.wants(i)) return;
  const int extra = d.rank() - shape.rank();
  std::vector<int> stretched;
  for (int dim = 0; dim < d.rank(); ++dim) {
    if (dim < extra || shape[dim - extra] != d.size(dim)) stretched.push_back(dim);
  }
  g.pass(i, stretched.empty() ? d : pg::reshape(pg::sum(d, stretched), shape));
  // [end]
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
  // [answer 02.5 gradcheck]
  std::vector<Tensor> x;
  for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
  const Tensor y = f(x);
  Generator random(7);
  const Tensor r = Tensor::normal(y.shape(), 0, 1, random, f64);
  backward(y, r);

  NoGrad guard;
  const double h = 1e-5;
  double worst = 0;
  for (const Tensor& input : x) {
    const bool used = input.grad().defined();
    const std::vector<double> analytic = used ? input.grad().to_vector() : std::vector<double>(input.numel());
    double difference = 0, norm_a = 0, norm_n = 0;
    for (int64_t n = 0; n < input.numel(); ++n) {
      double& element = input.data<double>()[n];
      const double before = element;
      element = before + h;
      const double above = pg::sum(pg::mul(f(x), r)).item();
      element = before - h;
      const double below = pg::sum(pg::mul(f(x), r)).item();
      element = before;
      const double numeric = (above - below) / (2 * h);
      difference += (analytic[n] - numeric) * (analytic[n] - numeric);
      norm_a += analytic[n] * analytic[n];
      norm_n += numeric * numeric;
    }
    const double error = std::sqrt(difference) / std::max({std::sqrt(norm_a), std::sqrt(norm_n), 1e-5});
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  return worst;
  // [end]
}

}  // namespace pg::lesson02

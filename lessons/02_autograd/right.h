#pragma once
// Right but unusual answers to lesson 2: the checks must accept them. mutants.cpp has the table.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "lessons/02_autograd/lesson.h"

namespace pg::lesson02 {

// Without g.wants: g.pass does nothing for an input that needs no gradient.
inline Tensor right_mul(const Tensor& a, const Tensor& b) {
  return record(Op::mul, pg::mul(a.detach(), b.detach()), {&a, &b},
                [a = a.detach(), b = b.detach()](const Tensor& dz, Grads& g) {
                  g.pass(1, pg::mul(a, dz));
                  g.pass(0, pg::mul(b, dz));
                });
}

inline Tensor right_tanh(const Tensor& x) {
  Tensor y = pg::tanh(x.detach());
  return record(Op::tanh, y, {&x}, [y](const Tensor& dy, Grads& g) {
    g.pass(0, pg::mul(pg::mul(dy, 1.0 - y), 1.0 + y));  // (1 - y)(1 + y)
  });
}

// Both gradients as transposes of a product.
inline Tensor right_matmul(const Tensor& a, const Tensor& b) {
  return record(Op::matmul, pg::matmul(a.detach(), b.detach()), {&a, &b},
                [a = a.detach(), b = b.detach()](const Tensor& dc, Grads& g) {
                  const Tensor turned = pg::transpose(dc);
                  g.pass(0, pg::transpose(pg::matmul(b, turned)));
                  g.pass(1, pg::transpose(pg::matmul(turned, a)));
                });
}

// Dim by dim; sums over a dim of size 1 change nothing.
inline void right_sum(Grads& g, int i, const Tensor& d, const Shape& shape) {
  Tensor sum = d;
  while (sum.rank() > shape.rank()) sum = pg::sum(sum, {0});
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (shape[dim] == 1) sum = pg::sum(sum, {dim}, true);
  }
  g.pass(i, sum);
}

// Fourth-order differences, weights r from 1 to 2, and nan for a gradient that is nan.
inline double right_gradcheck(const Function& f, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> x;
  for (const Tensor& input : inputs) x.push_back(input.clone().set_requires_grad());
  const Tensor y = f(x);
  Generator random(99);
  const Tensor r = Tensor::uniform(y.shape(), 1, 2, random, f64);
  backward(y, r);
  NoGrad guard;
  double worst = 0;
  for (const Tensor& input : x) {
    const Tensor a = input.grad().defined() ? input.grad() : zeros_like(input);
    std::vector<double> slopes;
    for (double& element : input.data<double>()) {
      const double before = element, h = 1e-3;
      const auto at = [&](double step) {
        element = before + step;
        const double value = pg::sum(pg::mul(f(x), r)).item();
        element = before;
        return value;
      };
      slopes.push_back((8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h));
    }
    const Tensor n = Tensor::from(slopes, input.shape());
    const auto norm = [](const Tensor& v) { return std::sqrt(pg::sum(pg::mul(v, v)).item()); };
    const double error = norm(pg::sub(a, n)) / std::max({norm(a), norm(n), 1e-5});
    if (!(error <= worst)) worst = error;  // nan is no number to compare with
    if (std::isnan(worst)) return worst;
  }
  return worst;
}

}  // namespace pg::lesson02

#pragma once
// The checks of lesson 2 that have a file of their own, and what the checks share.
#include "lessons/02_autograd/lesson.h"
#include "lessons/kit/gradients.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson02 {
using kit::gradient_of;

// checks_broadcast.cpp
void check_pass_summed(kit::Grader& g, const Impl& impl);
// checks_gradcheck.cpp
void check_gradcheck(kit::Grader& g, const Impl& impl);

// mistakes.cpp
kit::Mistakes<&Impl::mul> mul_mistakes();
kit::Mistakes<&Impl::tanh> tanh_mistakes();
kit::Mistakes<&Impl::matmul> matmul_mistakes();
kit::Mistakes<&Impl::pass_summed> sum_mistakes();
kit::Mistakes<&Impl::gradcheck> gradcheck_mistakes();

inline Tensor random_leaf(const Shape& shape, Generator& random, DType dtype = f64) {
  Tensor x = Tensor::normal(shape, 0, 1, random, dtype);
  x.set_requires_grad();
  return x;
}
inline Tensor random_like(const Tensor& x, Generator& random) {
  return Tensor::normal(x.shape(), 0, 1, random, x.dtype());
}
inline Tensor product(const Tensor& a, const Tensor& b) { return pg::mul(a.detach(), b.detach()); }
inline Tensor matrix(const Tensor& a, const Tensor& b) { return pg::matmul(a.detach(), b.detach()); }
inline Tensor turned(const Tensor& a) { return a.detach().view_transpose(0, 1); }
inline double tolerance(const Tensor& x) { return x.dtype() == f64 ? 1e-9 : 1e-6; }

inline const std::string kNoPass =
    "an input that needs a gradient gets none: each input has an `if (g.wants(i)) g.pass(i, …)` of its own, with the "
    "same i";

}  // namespace pg::lesson02

#pragma once
// The functions of tensor/elementwise.def as types, for kernels. A functor of UNARY has value(x, s) and
// grad(dy, kept, s); one of BINARY has value(x, y), grad_x(dz, x, y) and grad_y(dz, x, y); one of COMPARISON has
// holds(x, y). They are constexpr, because nvcc allows kernels to call constexpr functions. The CPU's vector types and
// CUDA's scalar types define exp, select and the other functions used here.
#include <limits>

#include "tensor/kernels.h"

namespace pg::elementwise {

// NaN stays NaN.
template <class V>
constexpr V clamp_to(V x, double low, double high) {
  return min(V(high), max(V(low), x));
}

// An infinite bound does not clamp: the gradient passes at an infinite x equal to it.
constexpr auto clamp_gradient(auto dy, auto x, Scalars s) {
  constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto above = (x > s.a) | (x == (s.a == -infinity ? -infinity : nan));
  const auto below = (x < s.b) | (x == (s.b == infinity ? infinity : nan));
  return select(above & below, dy, 0);
}

// gelu_tanh(x) = x·σ(2u), u = sqrt(2/π)·(x + 0.044715 x³). Beyond |x| = 30 the derivative is 0 or 1 in any precision;
// the clamp avoids 0·infinity.
constexpr auto gelu_tanh_gradient(auto dy, auto x) {
  constexpr double c = 2 * 0.79788456080286535588;
  const auto t = clamp_to(x, -30, 30), t2 = t * t;
  const auto s = sigmoid_flushed(t * fma(t2, c * 0.044715, c));
  return dy * (s + t * s * (1 - s) * fma(t2, 3 * c * 0.044715, c));
}

// P(N(0, 1) <= x)
constexpr auto normal_cdf(auto x) { return (erf(x * 0.70710678118654752440) + 1) * 0.5; }
// The derivative adds x times the density, which is 0 beyond |x| = 40.
constexpr auto gelu_erf_gradient(auto dy, auto x) {
  const auto t = clamp_to(x, -40, 40);
  return dy * (normal_cdf(t) + t * (exp(t * t * -0.5) * 0.39894228040143267794));
}

constexpr auto silu_gradient(auto dy, auto x) {
  const auto t = clamp_to(x, -800, 800);  // beyond it the derivative is 0 or 1
  const auto s = sigmoid(t);
  return dy * (s * (t * (1 - s) + 1));
}

constexpr auto pow_scalar_gradient(auto dy, auto x, Scalars s) {
  if (s.a == 0) return decltype(x)(0);
  return dy * ((s.a == 2 ? x : pow(x, s.a - 1)) * s.a);
}

// The second parameter of grad() is named after its content: x, y, or kept where it is not read.
#define KEPT_nothing kept
#define KEPT_input x
#define KEPT_output y
#define UNARY(name, cost, keeps, value_, gradient)                                                        \
  struct name##_functor {                                                                                 \
    static constexpr auto value(auto x, [[maybe_unused]] Scalars s) { return value_; }                    \
    static constexpr auto grad(auto dy, [[maybe_unused]] auto KEPT_##keeps, [[maybe_unused]] Scalars s) { \
      return gradient;                                                                                    \
    }                                                                                                     \
  };
#define UNARY_WITH UNARY
#define BINARY(name, cost, value_, gradient_x, gradient_y)                                                         \
  struct name##_functor {                                                                                          \
    static constexpr auto value(auto x, auto y) { return value_; }                                                 \
    static constexpr auto grad_x(auto dz, [[maybe_unused]] auto x, [[maybe_unused]] auto y) { return gradient_x; } \
    static constexpr auto grad_y(auto dz, [[maybe_unused]] auto x, [[maybe_unused]] auto y) { return gradient_y; } \
  };
#define COMPARISON(name, condition)                                   \
  struct name##_functor {                                             \
    static constexpr bool holds(auto x, auto y) { return condition; } \
  };
#include "tensor/elementwise.def"
#undef KEPT_nothing
#undef KEPT_input
#undef KEPT_output

// Calls f(functor) with the functor of `op`.
template <class F>
constexpr decltype(auto) visit_op(Unary op, F&& f) {
  switch (op) {
#define UNARY(name, ...) \
  case Unary::name:      \
    return f(name##_functor{});
#define UNARY_WITH UNARY
#include "tensor/elementwise.def"
  }
  __builtin_unreachable();
}
template <class F>
constexpr decltype(auto) visit_op(Binary op, F&& f) {
  switch (op) {
#define BINARY(name, ...) \
  case Binary::name:      \
    return f(name##_functor{});
#include "tensor/elementwise.def"
  }
  __builtin_unreachable();
}
template <class F>
constexpr decltype(auto) visit_op(Comparison op, F&& f) {
  switch (op) {
#define COMPARISON(name, condition) \
  case Comparison::name:            \
    return f(name##_functor{});
#include "tensor/elementwise.def"
  }
  __builtin_unreachable();
}

}  // namespace pg::elementwise

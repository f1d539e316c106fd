#pragma once
// Every elementwise function beside its derivative. `value` is the function; `grad` turns dy into the gradient of x,
// reading x or y = value(x) as `reads_y` says. Borders (zeros, ties, infinities) follow PyTorch. Written once for the
// vectors of the CPU (tensor/cpu/simd/vec_math.h) and the lanes of CUDA (tensor/cuda/lane.h), each of which brings exp,
// select and the rest; constexpr, because nvcc lets kernels call what is.
#include <limits>

#include "tensor/kernels.h"

namespace pg::elementwise {

// NaN stays NaN.
template <class V>
constexpr V clamp_to(V x, double low, double high) {
  return min(V(high), max(V(low), x));
}
struct ReadsX {
  static constexpr bool reads_y = false;
};
struct ReadsY {
  static constexpr bool reads_y = true;
};

// ---- unary

struct Neg : ReadsX {
  static constexpr auto value(auto x, Scalars) { return -x; }
  static constexpr auto grad(auto dy, auto, Scalars) { return -dy; }
};

struct Abs : ReadsX {
  static constexpr auto value(auto x, Scalars) { return abs(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) { return select(x == 0, 0, select(x < 0, -dy, dy)); }
};

struct Exp : ReadsY {
  static constexpr auto value(auto x, Scalars) { return exp(x); }
  static constexpr auto grad(auto dy, auto y, Scalars) { return dy * y; }
};

struct Expm1 : ReadsY {
  static constexpr auto value(auto x, Scalars) { return expm1(x); }
  static constexpr auto grad(auto dy, auto y, Scalars) { return dy * (y + 1); }
};

struct Log : ReadsX {
  static constexpr auto value(auto x, Scalars) { return log(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) { return dy / x; }
};

struct Log1p : ReadsX {
  static constexpr auto value(auto x, Scalars) { return log1p(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) { return dy / (x + 1); }
};

struct Sqrt : ReadsY {
  static constexpr auto value(auto x, Scalars) { return sqrt(x); }
  static constexpr auto grad(auto dy, auto y, Scalars) { return dy / (y + y); }
};

struct Rsqrt : ReadsY {
  static constexpr auto value(auto x, Scalars) { return 1 / sqrt(x); }
  static constexpr auto grad(auto dy, auto y, Scalars) { return dy * -0.5 * (y * y * y); }
};

struct Reciprocal : ReadsY {
  static constexpr auto value(auto x, Scalars) { return 1 / x; }
  static constexpr auto grad(auto dy, auto y, Scalars) { return -dy * (y * y); }
};

struct Sin : ReadsX {
  static constexpr auto value(auto x, Scalars) { return sin(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) { return dy * cos(x); }
};

struct Cos : ReadsX {
  static constexpr auto value(auto x, Scalars) { return cos(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) { return -dy * sin(x); }
};

struct Tanh : ReadsY {
  static constexpr auto value(auto x, Scalars) { return tanh(x); }
  static constexpr auto grad(auto dy, auto y, Scalars) { return dy * (1 - y * y); }
};

struct Sigmoid : ReadsY {
  static constexpr auto value(auto x, Scalars) { return sigmoid(x); }
  static constexpr auto grad(auto dy, auto y, Scalars) { return dy * (1 - y) * y; }
};

// log(1 + e^x), the exponential taken where it can't overflow.
struct Softplus : ReadsX {
  static constexpr auto value(auto x, Scalars) { return max(decltype(x)(0), x) + log1p(exp(-abs(x))); }
  static constexpr auto grad(auto dy, auto x, Scalars) { return dy * sigmoid(x); }
};

struct Relu : ReadsX {
  static constexpr auto value(auto x, Scalars) { return max(decltype(x)(0), x); }
  static constexpr auto grad(auto dy, auto x, Scalars) { return select(x <= 0, 0, dy); }
};

// x·s(2u), u = sqrt(2/pi)·(x + 0.044715 x^3). Beyond |x| = 30 the derivative is 0 or 1 in any precision; clamping keeps
// 0·infinity away.
struct GeluTanh : ReadsX {
  static constexpr auto value(auto x, Scalars) { return gelu_tanh(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) {
    constexpr double c = 2 * 0.79788456080286535588;
    const auto t = clamp_to(x, -30, 30), t2 = t * t;
    const auto s = sigmoid_flushed(t * fma(t2, c * 0.044715, c));
    return dy * (s + t * s * (1 - s) * fma(t2, 3 * c * 0.044715, c));
  }
};

// x·P(N(0, 1) <= x); the derivative adds x times the density, which is 0 beyond |x| = 40.
struct GeluErf : ReadsX {
  static constexpr auto value(auto x, Scalars) { return x * normal_cdf(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) {
    const auto t = clamp_to(x, -40, 40);
    return dy * (normal_cdf(t) + t * (exp(t * t * -0.5) * 0.39894228040143267794));
  }
  static constexpr auto normal_cdf(auto x) { return (erf(x * 0.70710678118654752440) + 1) * 0.5; }
};

struct Silu : ReadsX {
  static constexpr auto value(auto x, Scalars) { return x * sigmoid(x); }
  static constexpr auto grad(auto dy, auto x, Scalars) {
    const auto t = clamp_to(x, -800, 800);  // beyond it the derivative is 0 or 1
    const auto s = sigmoid(t);
    return dy * (s * (t * (1 - s) + 1));
  }
};

struct Affine : ReadsX {
  static constexpr auto value(auto x, Scalars s) { return x * s.a + s.b; }
  static constexpr auto grad(auto dy, auto, Scalars s) { return dy * s.a; }
};

struct DivScalar : ReadsX {
  static constexpr auto value(auto x, Scalars s) { return x / decltype(x)(s.a); }
  static constexpr auto grad(auto dy, auto, Scalars s) { return dy / decltype(dy)(s.a); }
};

struct Clamp : ReadsX {
  static constexpr auto value(auto x, Scalars s) { return clamp_to(x, s.a, s.b); }
  // An infinite bound bounds nothing: an infinite x passes it.
  static constexpr auto grad(auto dy, auto x, Scalars s) {
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    const auto above = (x > s.a) | (x == (s.a == -infinity ? -infinity : nan));
    const auto below = (x < s.b) | (x == (s.b == infinity ? infinity : nan));
    return select(above & below, dy, 0);
  }
};

struct PowScalar : ReadsX {
  static constexpr auto value(auto x, Scalars s) { return s.a == 2 ? x * x : pow(x, s.a); }
  static constexpr auto grad(auto dy, auto x, Scalars s) {
    if (s.a == 0) return decltype(x)(0);
    return dy * ((s.a == 2 ? x : pow(x, s.a - 1)) * s.a);
  }
};

// ---- binary: `grad_x` and `grad_y` turn dz into the gradient of one side

struct Add {
  static constexpr auto value(auto x, auto y) { return x + y; }
  static constexpr auto grad_x(auto dz, auto, auto) { return dz; }
  static constexpr auto grad_y(auto dz, auto, auto) { return dz; }
};

struct Sub {
  static constexpr auto value(auto x, auto y) { return x - y; }
  static constexpr auto grad_x(auto dz, auto, auto) { return dz; }
  static constexpr auto grad_y(auto dz, auto, auto) { return -dz; }
};

struct Mul {
  static constexpr auto value(auto x, auto y) { return x * y; }
  static constexpr auto grad_x(auto dz, auto, auto y) { return dz * y; }
  static constexpr auto grad_y(auto dz, auto x, auto) { return dz * x; }
};

struct Div {
  static constexpr auto value(auto x, auto y) { return x / y; }
  static constexpr auto grad_x(auto dz, auto, auto y) { return dz / y; }
  static constexpr auto grad_y(auto dz, auto x, auto y) { return -dz * (x / y / y); }
};

struct Pow {
  static constexpr auto value(auto x, auto y) { return pow(x, y); }
  static constexpr auto grad_x(auto dz, auto x, auto y) { return select(y == 0, 0, dz * (y * pow(x, y - 1))); }
  static constexpr auto grad_y(auto dz, auto x, auto y) {
    return select((x == 0) & (y >= 0), 0, dz * (pow(x, y) * log(x)));
  }
};

// NaN on either side gives NaN; at a tie each side gets half.
struct Minimum {
  static constexpr auto value(auto x, auto y) { return select(x != x, x, min(x, y)); }
  static constexpr auto grad_x(auto dz, auto x, auto y) { return select(x > y, 0, select(x == y, dz * 0.5, dz)); }
  static constexpr auto grad_y(auto dz, auto x, auto y) { return grad_x(dz, y, x); }
};

struct Maximum {
  static constexpr auto value(auto x, auto y) { return select(x != x, x, max(x, y)); }
  static constexpr auto grad_x(auto dz, auto x, auto y) { return select(x < y, 0, select(x == y, dz * 0.5, dz)); }
  static constexpr auto grad_y(auto dz, auto x, auto y) { return grad_x(dz, y, x); }
};

// Calls f(functor) with the one that `op` names.
template <class F>
decltype(auto) visit_op(Unary op, F&& f) {
  switch (op) {
    // clang-format off
    case Unary::neg: return f(Neg{});
    case Unary::abs: return f(Abs{});
    case Unary::exp: return f(Exp{});
    case Unary::expm1: return f(Expm1{});
    case Unary::log: return f(Log{});
    case Unary::log1p: return f(Log1p{});
    case Unary::sqrt: return f(Sqrt{});
    case Unary::rsqrt: return f(Rsqrt{});
    case Unary::reciprocal: return f(Reciprocal{});
    case Unary::sin: return f(Sin{});
    case Unary::cos: return f(Cos{});
    case Unary::tanh: return f(Tanh{});
    case Unary::sigmoid: return f(Sigmoid{});
    case Unary::softplus: return f(Softplus{});
    case Unary::relu: return f(Relu{});
    case Unary::gelu_tanh: return f(GeluTanh{});
    case Unary::gelu_erf: return f(GeluErf{});
    case Unary::silu: return f(Silu{});
    case Unary::affine: return f(Affine{});
    case Unary::div_scalar: return f(DivScalar{});
    case Unary::clamp: return f(Clamp{});
    case Unary::pow_scalar: break;
      // clang-format on
  }
  return f(PowScalar{});
}

template <class F>
decltype(auto) visit_op(Binary op, F&& f) {
  switch (op) {
    // clang-format off
    case Binary::add: return f(Add{});
    case Binary::sub: return f(Sub{});
    case Binary::mul: return f(Mul{});
    case Binary::div: return f(Div{});
    case Binary::pow: return f(Pow{});
    case Binary::minimum: return f(Minimum{});
    // clang-format on
    default:
      return f(Maximum{});
  }
}

}  // namespace pg::elementwise

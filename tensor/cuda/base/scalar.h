#pragma once
// One element in a kernel's registers, with the functions that tensor/functors.h uses: it corresponds to the CPU's Vec
// (tensor/cpu/simd/vec.h) with a single lane. f32 and f64; CUDA's precise functions, not the fast approximations.
#include <cmath>
#include <type_traits>

#include "tensor/cuda/runtime/launch.h"

namespace pg::cuda {

#define POLICYGRAD_HD __host__ __device__ __forceinline__

template <class T>
struct Scalar {
  T v;

  template <class U, class = std::enable_if_t<std::is_arithmetic_v<U>>>
  POLICYGRAD_HD constexpr Scalar(U x) : v(static_cast<T>(x)) {}

  // clang-format off
  POLICYGRAD_HD friend Scalar operator+(Scalar a, Scalar b) { return a.v + b.v; }
  POLICYGRAD_HD friend Scalar operator-(Scalar a, Scalar b) { return a.v - b.v; }
  POLICYGRAD_HD friend Scalar operator*(Scalar a, Scalar b) { return a.v * b.v; }
  POLICYGRAD_HD friend Scalar operator/(Scalar a, Scalar b) { return a.v / b.v; }
  POLICYGRAD_HD friend Scalar operator-(Scalar a) { return -a.v; }
  POLICYGRAD_HD friend bool operator<(Scalar a, Scalar b) { return a.v < b.v; }
  POLICYGRAD_HD friend bool operator<=(Scalar a, Scalar b) { return a.v <= b.v; }
  POLICYGRAD_HD friend bool operator>(Scalar a, Scalar b) { return a.v > b.v; }
  POLICYGRAD_HD friend bool operator>=(Scalar a, Scalar b) { return a.v >= b.v; }
  POLICYGRAD_HD friend bool operator==(Scalar a, Scalar b) { return a.v == b.v; }
  POLICYGRAD_HD friend bool operator!=(Scalar a, Scalar b) { return a.v != b.v; }

  POLICYGRAD_HD friend Scalar select(bool condition, Scalar yes, Scalar no) { return condition ? yes : no; }
  // As on the CPU: the second argument if either is NaN.
  POLICYGRAD_HD friend Scalar min(Scalar a, Scalar b) { return a.v < b.v ? a : b; }
  POLICYGRAD_HD friend Scalar max(Scalar a, Scalar b) { return a.v > b.v ? a : b; }
  POLICYGRAD_HD friend Scalar fma(Scalar a, Scalar b, Scalar c) { return ::fma(a.v, b.v, c.v); }
  POLICYGRAD_HD friend Scalar abs(Scalar x) { return ::fabs(x.v); }
  POLICYGRAD_HD friend Scalar sqrt(Scalar x) { return ::sqrt(x.v); }
  POLICYGRAD_HD friend Scalar exp(Scalar x) { return ::exp(x.v); }
  POLICYGRAD_HD friend Scalar expm1(Scalar x) { return ::expm1(x.v); }
  POLICYGRAD_HD friend Scalar log(Scalar x) { return ::log(x.v); }
  POLICYGRAD_HD friend Scalar log1p(Scalar x) { return ::log1p(x.v); }
  POLICYGRAD_HD friend Scalar sin(Scalar x) { return ::sin(x.v); }
  POLICYGRAD_HD friend Scalar cos(Scalar x) { return ::cos(x.v); }
  POLICYGRAD_HD friend Scalar tanh(Scalar x) { return ::tanh(x.v); }
  POLICYGRAD_HD friend Scalar erf(Scalar x) { return ::erf(x.v); }
  POLICYGRAD_HD friend Scalar pow(Scalar x, Scalar y) { return ::pow(x.v, y.v); }
  // clang-format on
  POLICYGRAD_HD friend Scalar softplus(Scalar x) { return max(Scalar(0), x) + log1p(exp(-abs(x))); }
  POLICYGRAD_HD friend Scalar sigmoid(Scalar x) {
    const Scalar e = exp(-abs(x));
    return select(x < T(0), e, T(1)) / (e + T(1));
  }
  POLICYGRAD_HD friend Scalar sigmoid_flushed(Scalar x) { return sigmoid(x); }
  POLICYGRAD_HD friend Scalar gelu_tanh(Scalar x) {
    constexpr double c = 2 * 0.79788456080286535588;
    return x * sigmoid(x * fma(x * x, c * 0.044715, c));
  }
};

}  // namespace pg::cuda

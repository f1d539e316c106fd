#pragma once
// One element in a kernel's registers, with the functions that tensor/functors.h uses: it corresponds to the CPU's Vec
// (tensor/cpu/vec.h) with a single lane. f32 and f64; CUDA's precise functions, not the fast approximations.
#include <cmath>
#include <type_traits>

#include "tensor/cuda/runtime/launch.h"

namespace pg::cuda {

#define POLICYGRAD_HD __host__ __device__ __forceinline__

template <class T>
struct Lane {
  T v;

  template <class U, class = std::enable_if_t<std::is_arithmetic_v<U>>>
  POLICYGRAD_HD constexpr Lane(U x) : v(static_cast<T>(x)) {}

  // clang-format off
  POLICYGRAD_HD friend Lane operator+(Lane a, Lane b) { return a.v + b.v; }
  POLICYGRAD_HD friend Lane operator-(Lane a, Lane b) { return a.v - b.v; }
  POLICYGRAD_HD friend Lane operator*(Lane a, Lane b) { return a.v * b.v; }
  POLICYGRAD_HD friend Lane operator/(Lane a, Lane b) { return a.v / b.v; }
  POLICYGRAD_HD friend Lane operator-(Lane a) { return -a.v; }
  POLICYGRAD_HD friend bool operator<(Lane a, Lane b) { return a.v < b.v; }
  POLICYGRAD_HD friend bool operator<=(Lane a, Lane b) { return a.v <= b.v; }
  POLICYGRAD_HD friend bool operator>(Lane a, Lane b) { return a.v > b.v; }
  POLICYGRAD_HD friend bool operator>=(Lane a, Lane b) { return a.v >= b.v; }
  POLICYGRAD_HD friend bool operator==(Lane a, Lane b) { return a.v == b.v; }
  POLICYGRAD_HD friend bool operator!=(Lane a, Lane b) { return a.v != b.v; }

  POLICYGRAD_HD friend Lane select(bool condition, Lane yes, Lane no) { return condition ? yes : no; }
  // As on the CPU: the second argument if either is NaN.
  POLICYGRAD_HD friend Lane min(Lane a, Lane b) { return a.v < b.v ? a : b; }
  POLICYGRAD_HD friend Lane max(Lane a, Lane b) { return a.v > b.v ? a : b; }
  POLICYGRAD_HD friend Lane fma(Lane a, Lane b, Lane c) { return ::fma(a.v, b.v, c.v); }
  POLICYGRAD_HD friend Lane abs(Lane x) { return ::fabs(x.v); }
  POLICYGRAD_HD friend Lane sqrt(Lane x) { return ::sqrt(x.v); }
  POLICYGRAD_HD friend Lane exp(Lane x) { return ::exp(x.v); }
  POLICYGRAD_HD friend Lane expm1(Lane x) { return ::expm1(x.v); }
  POLICYGRAD_HD friend Lane log(Lane x) { return ::log(x.v); }
  POLICYGRAD_HD friend Lane log1p(Lane x) { return ::log1p(x.v); }
  POLICYGRAD_HD friend Lane sin(Lane x) { return ::sin(x.v); }
  POLICYGRAD_HD friend Lane cos(Lane x) { return ::cos(x.v); }
  POLICYGRAD_HD friend Lane tanh(Lane x) { return ::tanh(x.v); }
  POLICYGRAD_HD friend Lane erf(Lane x) { return ::erf(x.v); }
  POLICYGRAD_HD friend Lane pow(Lane x, Lane y) { return ::pow(x.v, y.v); }
  // clang-format on
  POLICYGRAD_HD friend Lane sigmoid(Lane x) {
    const Lane e = exp(-abs(x));
    return select(x < T(0), e, T(1)) / (e + T(1));
  }
  POLICYGRAD_HD friend Lane sigmoid_flushed(Lane x) { return sigmoid(x); }
  POLICYGRAD_HD friend Lane gelu_tanh(Lane x) {
    constexpr double c = 2 * 0.79788456080286535588;
    return x * sigmoid(x * fma(x * x, c * 0.044715, c));
  }
};

}  // namespace pg::cuda

#pragma once
// A double with the functions that tensor/elementwise.def and tensor/functors.h use, so that the plain backend compiles
// the one list of formulas as the vector types of the CPU and the scalars of CUDA do.
#include <algorithm>
#include <cmath>

namespace pg::plain {

struct Real {
  double v;
  constexpr Real(double x) : v(x) {}
};
constexpr Real operator-(Real a) { return -a.v; }
constexpr Real operator+(Real a, Real b) { return a.v + b.v; }
constexpr Real operator-(Real a, Real b) { return a.v - b.v; }
constexpr Real operator*(Real a, Real b) { return a.v * b.v; }
constexpr Real operator/(Real a, Real b) { return a.v / b.v; }

// What a comparison of two says. The formulas combine them by & and |, as vector types need it.
struct Truth {
  bool v;
  constexpr operator bool() const { return v; }
};
constexpr Truth operator&(Truth a, Truth b) { return {a.v && b.v}; }
constexpr Truth operator|(Truth a, Truth b) { return {a.v || b.v}; }
constexpr Truth operator==(Real a, Real b) { return {a.v == b.v}; }
constexpr Truth operator!=(Real a, Real b) { return {a.v != b.v}; }
constexpr Truth operator<(Real a, Real b) { return {a.v < b.v}; }
constexpr Truth operator>(Real a, Real b) { return {a.v > b.v}; }
constexpr Truth operator<=(Real a, Real b) { return {a.v <= b.v}; }
constexpr Truth operator>=(Real a, Real b) { return {a.v >= b.v}; }
constexpr Real select(Truth condition, Real a, Real b) { return condition.v ? a : b; }
inline Real abs(Real x) { return std::abs(x.v); }
inline Real exp(Real x) { return std::exp(x.v); }
inline Real expm1(Real x) { return std::expm1(x.v); }
inline Real log(Real x) { return std::log(x.v); }
inline Real log1p(Real x) { return std::log1p(x.v); }
inline Real sqrt(Real x) { return std::sqrt(x.v); }
inline Real sin(Real x) { return std::sin(x.v); }
inline Real cos(Real x) { return std::cos(x.v); }
inline Real tanh(Real x) { return std::tanh(x.v); }
inline Real erf(Real x) { return std::erf(x.v); }
inline Real pow(Real x, Real y) { return std::pow(x.v, y.v); }
inline Real fma(Real a, Real b, Real c) { return std::fma(a.v, b.v, c.v); }
// NaN in the second argument stays, as in the vector types: a comparison with NaN is false.
constexpr Real min(Real a, Real b) { return a.v < b.v ? a : b; }
constexpr Real max(Real a, Real b) { return a.v > b.v ? a : b; }
inline Real sigmoid(Real x) { return 1 / (1 + std::exp(-x.v)); }
inline Real sigmoid_flushed(Real x) { return sigmoid(x); }
inline Real softplus(Real x) { return std::max(x.v, 0.0) + std::log1p(std::exp(-std::abs(x.v))); }
inline Real gelu_tanh(Real x) { return x * sigmoid(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)); }

}  // namespace pg::plain

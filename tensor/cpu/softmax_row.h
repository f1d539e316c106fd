#pragma once
// The only code that computes a row's maximum and log-sum-exp: softmax, log-softmax, cross-entropy and token
// log-probabilities agree to the bit because they all use it.
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/simd/vec_math.h"
#include "tensor/view.h"

namespace pg::cpu {

namespace detail {
inline int64_t bits_of(double x) { return std::bit_cast<int64_t>(x); }
inline Vec<double>::Bits bits_of(Vec<double> x) { return x.bits(); }
inline double of_bits(int64_t bits) { return std::bit_cast<double>(bits); }
inline Vec<double> of_bits(Vec<double>::Bits bits) { return Vec<double>(bits); }
inline double select(bool condition, double yes, double no) { return condition ? yes : no; }
}  // namespace detail

// The logarithm of a normal x > 0, infinity or NaN, within 2^-30 of itself, for a result of single precision. A number
// and a lane of a vector get the same bits. x = 2^n·(1 + f); (log(1 + f) - f)/f^2 is a minimax fit.
template <class V>
V log_for_single(V x) {
  using namespace detail;
  using simd::fma;
  constexpr double magic = 0x1.8p52;  // of which n, the low bits of a sum, becomes a double
  const auto bits = bits_of(x), exponent = (bits - bits_of(V(2.0 / 3))) >> 52;
  const V f = of_bits(bits - (exponent << 52)) - 1.0, n = of_bits(exponent + bits_of(V(magic))) - magic, f2 = f * f;
  const auto polynomial = [&](double highest, auto... lower) {
    V sum = highest;
    ((sum = fma(sum, f2, lower)), ...);
    return sum;
  };
  const V odd = polynomial(0x1.f221e6a062cd3p-4, 0x1.b6b057067eb4bp-4, 0x1.250bb8b0da958p-3, 0x1.99968bb70bcffp-3,
                           0x1.55555894754adp-2);
  const V even = polynomial(-0x1.0af50655ffde5p-3, -0x1.f1720d147d5acp-4, -0x1.55b1cf3f8c67cp-3, -0x1.fffe28dc9a746p-3,
                            -0x1.000000a39603dp-1);
  const V y = fma(n, 0x1.62e42fefa39efp-1, fma(f2, fma(odd, f, even), f));
  return select(x < std::numeric_limits<double>::infinity(), y, x);
}

// log p(i) = (x[i] - max) - log_sum: the maximum is subtracted first, so that large logits lose no digits.
template <class T>
struct RowStats {
  T max, log_sum;
  double sum;           // Σ e^(x - max)
  double mean_shifted;  // Σ p·(x - max), if kEntropy; the entropy is log(sum) minus it
  T log_prob(T x) const { return (x - max) - log_sum; }
};

// The statistics [R, 2] that a forward pass keeps for the backward pass: max and Σ e^(x - max) of each row. Together
// they give p(i) = e^(x[i] - max) / sum; with the single value max + log_sum, large logits would lose digits.
template <class T>
struct KeptStats {
  T* data;
  explicit KeptStats(const View& v) : data(v.as<T>()) {}
  T& max(int64_t row) const { return data[2 * row]; }
  T& sum(int64_t row) const { return data[2 * row + 1]; }
  void keep(int64_t row, const RowStats<T>& stats) const {
    max(row) = stats.max;
    sum(row) = static_cast<T>(stats.sum);
  }
};

// `keep(i, m, e)` is called with each vector e^(x - max) of the sum.
template <bool kEntropy, class T, class Keep>
RowStats<T> row_stats(const T* x, int64_t n, Keep keep) {
  const T top = max_row_of_numbers(x, n);  // a NaN is in the sum
  const auto sums = sum_vectors < T,
             kEntropy ? 2 : 1 > (n, [=](int64_t i, int64_t m) {
                              const Vec<T> shifted = load_lanes(x + i, m) - top, e = exp_flushed(shifted);
                              keep(i, m, e);
                              if constexpr (kEntropy)
                                return std::array{e, select(e == T(0), T(0), e * shifted)};  // p = 0 adds 0
                              if constexpr (!kEntropy) return std::array{e};
                            });
  const T log_sum = static_cast<T>(sizeof(T) == 4 ? log_for_single(sums[0]) : std::log(sums[0]));
  return {top, log_sum, sums[0], sums.back() / sums[0]};
}
template <bool kEntropy, class T>
RowStats<T> row_stats(const T* x, int64_t n) {
  return row_stats<kEntropy>(x, n, [](int64_t, int64_t, Vec<T>) {});
}

}  // namespace pg::cpu

#pragma once
// The only code that computes a row's maximum and log-sum-exp: softmax, log-softmax, cross-entropy and token
// log-probabilities agree to the bit because they all use it.
#include <cmath>

#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/simd/vec_math.h"
#include "tensor/view.h"

namespace pg::cpu {

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
  const double log_sum = std::log(sums[0]);
  return {top, static_cast<T>(log_sum), sums[0], sums.back() / sums[0]};
}
template <bool kEntropy, class T>
RowStats<T> row_stats(const T* x, int64_t n) {
  return row_stats<kEntropy>(x, n, [](int64_t, int64_t, Vec<T>) {});
}

}  // namespace pg::cpu

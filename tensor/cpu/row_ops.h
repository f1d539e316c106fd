#pragma once
// Loops over contiguous rows. Sums and maxima have one fixed order, set by the row's length: four vectors of running
// values within a block, the lanes reduced pairwise, the blocks added in double.
#include <algorithm>
#include <array>
#include <limits>

#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

using simd::Vec;

inline constexpr int64_t kSumBlock = 64;  // vectors

// Load and store the first m lanes. m is a constant in all but the last iteration of a loop, so that plain loads and
// stores remain there. S is T, or bf16 if T is float.
template <class S>
auto load_lanes(const S* p, int64_t m) {
  return m == decltype(simd::load(p))::size ? simd::load(p) : simd::load(p, m);
}
template <class S, class T>
void store_lanes(S* p, Vec<T> v, int64_t m) {
  m == Vec<T>::size ? simd::store(p, v) : simd::store(p, v, m);
}
// The first m lanes of v, the others replaced by `other`.
template <class T>
Vec<T> keep_lanes(Vec<T> v, int64_t m, T other) {
  alignas(64) static constexpr T kIndex[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return select(simd::load(kIndex) < static_cast<T>(m), v, other);
}

// f(i, m) for the vectors of [0, n): elements i … i + m - 1.
template <class T, class F>
inline void for_vectors(int64_t n, F f) {
  int64_t i = 0;
  for (; i + Vec<T>::size <= n; i += Vec<T>::size) f(i, int64_t{Vec<T>::size});
  if (i < n) f(i, n - i);
}

// to = beta·to + gradient(i, m), vector by vector; beta 0 doesn't read `to`.
template <class T, class F>
inline void write_gradient(T* to, int64_t n, T beta, F gradient) {
  if (beta == 0) {
    for_vectors<T>(n, [=](int64_t i, int64_t m) { store_lanes(to + i, gradient(i, m), m); });
  } else {
    for_vectors<T>(
        n, [=](int64_t i, int64_t m) { store_lanes(to + i, load_lanes(to + i, m) * beta + gradient(i, m), m); });
  }
}

// K sums at once: f(i, m) returns the K addends of elements i … i + m - 1, m at most Vec<T>::size.
template <class T, size_t K, class F>
std::array<double, K> sum_vectors(int64_t n, F f) {
  constexpr int64_t kLanes = Vec<T>::size;
  std::array<double, K> total{};
  for (int64_t i = 0; i < n;) {
    const int64_t end = std::min(n, i + kSumBlock * kLanes);
    Vec<T> sum[K][4];
    for (auto& s : sum) s[0] = s[1] = s[2] = s[3] = T(0);
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      for (int j = 0; j < 4; ++j) {
        const std::array<Vec<T>, K> addend = f(i + j * kLanes, kLanes);
        for (size_t k = 0; k < K; ++k) sum[k][j] += addend[k];
      }
    }
    for (; i + kLanes <= end; i += kLanes) {
      const std::array<Vec<T>, K> addend = f(i, kLanes);
      for (size_t k = 0; k < K; ++k) sum[k][0] += addend[k];
    }
    if (i < end) {
      const std::array<Vec<T>, K> addend = f(i, end - i);
      for (size_t k = 0; k < K; ++k) sum[k][1] += keep_lanes(addend[k], end - i, T(0));
      i = end;
    }
    for (size_t k = 0; k < K; ++k) {
      total[k] += static_cast<double>(horizontal_sum((sum[k][0] + sum[k][1]) + (sum[k][2] + sum[k][3])));
    }
  }
  return total;
}

template <class T>
double sum_row(const T* x, int64_t n) {
  return sum_vectors<T, 1>(n, [x](int64_t i, int64_t m) { return std::array{load_lanes(x + i, m)}; })[0];
}

// NaN if either is NaN.
template <class T>
T max_with_nan(T a, T b) {
  return b > a || b != b ? b : a;
}
template <class T>
Vec<T> max_with_nan(Vec<T> a, Vec<T> b) {
  return select((b > a) | (b != b), b, a);
}

// The largest of n elements by `larger`; -inf if there are none.
template <class T, class F>
T max_row(const T* x, int64_t n, F larger) {
  constexpr int64_t kLanes = Vec<T>::size;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Vec<T> top = lowest;
  int64_t i = 0;
  if (n >= 4 * kLanes) {
    Vec<T> tops[4] = {lowest, lowest, lowest, lowest};
    for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
      for (int j = 0; j < 4; ++j) tops[j] = larger(simd::load(x + i + j * kLanes), tops[j]);
    }
    top = larger(larger(tops[0], tops[1]), larger(tops[2], tops[3]));
  }
  for (; i + kLanes <= n; i += kLanes) top = larger(simd::load(x + i), top);
  if (i < n) top = larger(keep_lanes(simd::load(x + i, n - i), n - i, lowest), top);
  return simd::reduce_lanes<kLanes / 2>(top, larger)[0];
}
// The largest element; NaN if an element is NaN, -inf if there are no elements.
template <class T>
T max_row(const T* x, int64_t n) {
  return max_row(x, n, [](Vec<T> a, Vec<T> b) { return max_with_nan(a, b); });
}
// The same without elements that are NaN, in a third of the instructions.
template <class T>
T max_row_of_numbers(const T* x, int64_t n) {
  return max_row(x, n, [](Vec<T> a, Vec<T> b) { return simd::max(a, b); });
}

}  // namespace pg::cpu

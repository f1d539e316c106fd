#pragma once
// Loops over contiguous rows. Sums and maxima have one fixed order, set by the row's length: four vectors of 64 bytes
// of running values within a block, the lanes reduced pairwise, the blocks added in double.
#include <algorithm>
#include <array>
#include <limits>

#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

using simd::Vec;

inline constexpr int64_t kSumBlock = 64;  // vectors of 64 bytes

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
// The order is that of kChains running vectors, 4 or 2: two keep two sums in the registers of AVX2.
template <class T, size_t K, int kChains = 4, class F>
std::array<double, K> sum_vectors(int64_t n, F f) {
  constexpr int64_t kLanes = Vec<T>::size, kWide = simd::kWide<T>;
  constexpr int kParts = simd::kParts<T>;
  std::array<double, K> total{};
  for (int64_t i = 0; i < n;) {
    const int64_t end = std::min(n, i + kSumBlock * kWide);
    Vec<T> sum[K][kChains][kParts];
    for (auto& s : sum) std::fill_n(s[0], kChains * kParts, Vec<T>(T(0)));
    const auto add = [&](int j, int part, int64_t m) {
      const std::array<Vec<T>, K> addend = f(i, m);
      for (size_t k = 0; k < K; ++k) sum[k][j][part] += m == kLanes ? addend[k] : keep_lanes(addend[k], m, T(0));
      i += m;
    };
    while (i + kChains * kWide <= end) {
      for (int j = 0; j < kChains * kParts; ++j) add(j / kParts, j % kParts, kLanes);
    }
    while (i + kWide <= end) {
      for (int part = 0; part < kParts; ++part) add(0, part, kLanes);
    }
    for (int part = 0; part < kParts && i < end; ++part) add(1, part, std::min(kLanes, end - i));
    for (size_t k = 0; k < K; ++k) {
      auto& s = sum[k];
      for (int part = 0; part < kParts; ++part) {
        s[0][part] += s[1][part];
        if constexpr (kChains == 4) s[0][part] += s[2][part] + s[3][part];
      }
      total[k] += static_cast<double>(simd::sum_of_parts(s[0]));
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
  constexpr int64_t kLanes = Vec<T>::size, kWide = simd::kWide<T>;
  constexpr int kParts = simd::kParts<T>;
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Vec<T> top[kParts];
  std::fill_n(top, kParts, Vec<T>(lowest));
  int64_t i = 0;
  if (n >= 4 * kWide) {
    Vec<T> tops[4][kParts];
    std::fill_n(tops[0], 4 * kParts, Vec<T>(lowest));
    for (; i + 4 * kWide <= n; i += 4 * kWide) {
      for (int j = 0; j < 4 * kParts; ++j) {
        tops[j / kParts][j % kParts] = larger(simd::load(x + i + j * kLanes), tops[j / kParts][j % kParts]);
      }
    }
    for (int p = 0; p < kParts; ++p) top[p] = larger(larger(tops[0][p], tops[1][p]), larger(tops[2][p], tops[3][p]));
  }
  for (; i + kWide <= n; i += kWide) {
    for (int p = 0; p < kParts; ++p) top[p] = larger(simd::load(x + i + p * kLanes), top[p]);
  }
  for (int p = 0; p < kParts && i < n; ++p, i += kLanes) {
    const int64_t m = std::min(kLanes, n - i);
    top[p] = larger(keep_lanes(load_lanes(x + i, m), m, lowest), top[p]);
  }
  return simd::reduce_parts(top, larger);
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

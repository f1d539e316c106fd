#pragma once
// Maxima and sums of the columns of a matrix whose rows are contiguous: a vector of columns at once. A column gets the
// bits that max_row_of_numbers and sum_vectors (row_ops.h) give for a row of the same numbers.
#include "tensor/cpu/row_ops.h"

namespace pg::cpu {

inline constexpr int64_t kStripe = 256;  // most columns at once

// The largest element of each of `columns` columns; NaN does not count. row(r) is the address of row r. The arrays have
// kStripe elements: lanes beyond `columns` are written too.
template <class T, class Row>
void max_columns(T* top, int64_t rows, int64_t columns, Row row) {
  std::fill_n(top, kStripe, -std::numeric_limits<T>::infinity());
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = row(r);
    for_vectors<T>(columns, [=](int64_t i, int64_t m) {
      simd::store(top + i, simd::max(load_lanes(x + i, m), simd::load(top + i)));
    });
  }
}

// The sum of each column; `total` also has kStripe elements. addends(r) is a function (i, m) that returns the addends
// of row r, columns i … i + m - 1. The running values of sum_vectors, four vectors, are rows here: element k of a block
// is added to row slot(k).
template <class T, class Addends>
void sum_columns(double* total, int64_t rows, int64_t columns, Addends addends) {
  constexpr int64_t kLanes = simd::kWide<T>, kRegister = Vec<T>::size;
  alignas(64) T sum[4 * kLanes][kStripe];
  std::fill_n(total, kStripe, 0.0);
  for (int64_t begin = 0; begin < rows; begin += kSumBlock * kLanes) {
    const int64_t n = std::min(rows - begin, kSumBlock * kLanes);
    const int64_t fours = n / (4 * kLanes) * (4 * kLanes), full = n / kLanes * kLanes;
    const auto slot = [=](int64_t k) { return k < fours ? k % (4 * kLanes) : k % kLanes + (k < full ? 0 : kLanes); };
    const int64_t used = fours ? 4 * kLanes : full < n ? 2 * kLanes : kLanes;
    const int64_t begun = fours ? used : full ? kLanes : 0;  // rows of `sum` that the first elements begin
    std::fill_n(sum[begun], (used - begun) * kStripe, T(0));
    for (int64_t k = 0; k < n; ++k) {
      T* to = sum[slot(k)];
      const auto addend = addends(begin + k);
      if (k < begun) {
        for_vectors<T>(columns, [=](int64_t i, int64_t m) { simd::store(to + i, addend(i, m) + T(0)); });
      } else {
        for_vectors<T>(columns, [=](int64_t i, int64_t m) { simd::store(to + i, simd::load(to + i) + addend(i, m)); });
      }
    }
    // Also lane by lane and then pairwise.
    for (int64_t i = 0; i < columns; i += kRegister) {
      const auto at = [&, i](int64_t s) { return simd::load(sum[s] + i); };
      Vec<T> lanes[kLanes];
      for (int64_t l = 0; l < kLanes; ++l) {
        lanes[l] = at(l);
        if (used > kLanes) lanes[l] += at(l + kLanes);
        if (fours) lanes[l] += at(l + 2 * kLanes) + at(l + 3 * kLanes);
      }
      for (int64_t width = kLanes / 2; width > 0; width /= 2) {
        for (int64_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
      }
      if constexpr (sizeof(T) == 4) {
        simd::store(total + i, simd::load(total + i) + simd::widen<false>(lanes[0]));
        double* const upper = total + i + kRegister / 2;
        simd::store(upper, simd::load(upper) + simd::widen<true>(lanes[0]));
      } else {
        simd::store(total + i, simd::load(total + i) + lanes[0]);
      }
    }
  }
}

}  // namespace pg::cpu

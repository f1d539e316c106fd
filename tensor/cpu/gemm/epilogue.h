#pragma once
// The steps between the sums of a tile and c: their initial values, and bias, activation and rounding.
#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/row_ops.h"
#include "tensor/cpu/simd/vec_math.h"
#include "tensor/functors.h"

namespace pg::cpu {

// Sums of a tile in T: c itself, or separate memory if c has another type C.
template <class T>
struct Sums {
  T* data;
  int64_t ld;
};

// Sets the sums of a tile at (row, column) to the values of c. Only for sums that are not kept in c.
template <class S, class C, class T>
void begin_sums(const Product<S, C>& g, Sums<T> sums, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) simd::convert(sums.data + r * sums.ld, g.c + (row + r) * g.ldc + column, columns);
}

// Prefetches the part of `pre` that finish() will read or write for a tile, while its sums are computed.
template <class S, class C>
void prefetch_pre(const Product<S, C>& g, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  if (!g.pre) return;
  constexpr int64_t line = 64 / sizeof(C);
  for (int64_t r = 0; r < rows; ++r) {
    const C* const at = g.pre + (row + r) * g.ld_pre + column;
    for (int64_t j = 0; j < columns; j += line) __builtin_prefetch(at + j);
  }
}

// Adds the bias, applies the activation and rounds to C, while the tile is still in L1.
template <class S, class C, class T>
void finish(const Product<S, C>& g, Sums<T> sums, int64_t row, int64_t column, int64_t rows, int64_t columns) {
  T* const c = sums.data;
  const int64_t ldc = sums.ld;
  if (g.bias) {
    const T* const bias = g.bias + column;
    for (int64_t r = 0; r < rows; ++r) {
      T* to = c + r * ldc;
      for_vectors<T>(columns, [=](int64_t j, int64_t n) {
        store_lanes(to + j, load_lanes(to + j, n) + load_lanes(bias + j, n), n);
      });
    }
  }
  if (g.activation == Activation::gelu_tanh) {
    for (int64_t r = 0; r < rows; ++r) {
      T* to = c + r * ldc;
      if (g.pre) simd::convert(g.pre + (row + r) * g.ld_pre + column, to, columns);
      for_vectors<T>(columns, [=](int64_t j, int64_t n) { store_lanes(to + j, gelu_tanh(load_lanes(to + j, n)), n); });
    }
  }
  if (g.activation == Activation::gelu_tanh_backward) {
    for (int64_t r = 0; r < rows; ++r) {
      T* to = c + r * ldc;
      const C* const pre = g.pre + (row + r) * g.ld_pre + column;
      for_vectors<T>(columns, [=](int64_t j, int64_t n) {
        store_lanes(to + j, elementwise::gelu_tanh_gradient(load_lanes(to + j, n), load_lanes(pre + j, n)), n);
      });
    }
  }
  if constexpr (!std::is_same_v<C, T>) {
    for (int64_t r = 0; r < rows; ++r) simd::convert(g.c + (row + r) * g.ldc + column, c + r * ldc, columns);
  }
}

}  // namespace pg::cpu

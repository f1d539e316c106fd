#pragma once
// Products with a dozen to 256 rows at most, as in batched decoding: packing b would take a large part of the time of
// the arithmetic. If b's columns are contiguous (b = transpose(w) of a layer's w [N, K]), the transposed product cᵀ =
// bᵀ·aᵀ needs no packed b: the micro-kernel reads b's columns in place as its rows, and only a is packed. The chains
// over k are those of gemm.cpp. Pairs: both operands are read as words, pairs of bf16 along k.
#include <algorithm>

#include "tensor/cpu/gemm/epilogue.h"
#include "tensor/cpu/gemm/kernel.h"
#include "tensor/cpu/scratch.h"

namespace pg::cpu {

template <class S, class C, bool Pairs>
class TransposedOutput {
  using T = computes_t<S>;
  static constexpr int64_t size = simd::Vec<T>::size, per_word = Pairs ? 2 : 1;

 public:
  // Columns of c computed at a time: whole tiles, for which alone there are kernels that prefetch.
  static constexpr int64_t kColumns = 48 / kMaxRows * kMaxRows;

  explicit TransposedOutput(const Product<S, C>& g) : g(g) {}

  // a in panels [depth, 1 or 2 vectors of rows], one block of K after the other; `space` holds packed_size elements.
  // The panels may be packed in any order, by several threads.
  int64_t packed_size() const { return width * block_k.n; }
  int64_t panels() const { return block_k.count * across; }
  void pack(T* space, int64_t panel) const {
    const int64_t p = panel / across, i = panel % across * kPanel<T>;
    const int64_t at = block_k.begin(p), depth = block_k.size(p);
    const S* a = g.a.data + i * g.a.row + at * per_word * g.a.column;
    const int64_t lines = std::min(kPanel<T>, g.m - i), panel_width = std::min(kPanel<T>, width - i);
    T* const to = space + at * width + i * depth;
    if constexpr (Pairs) {
      pack_pairs(to, a, g.a.row, g.a.column, lines, panel_width, 2 * depth);
    } else {
      pack_panel(to, a, g.a.row, g.a.column, lines, panel_width, depth);
    }
  }

  // Computes the columns [begin, begin + n) of c, n <= kColumns.
  void columns(const T* packed_a, int64_t begin, int64_t n) const {
    T* const sums = scratch<T>(Scratch::gemm_sums, kColumns * (width + g.m) + size);  // [n, width]
    T* const transposed = sums + kColumns * width;                                    // [m, n]
    for (int64_t j = 0; g.beta != T(0) && j < n; ++j) {
      for (int64_t i = 0; i < g.m; ++i) sums[j * width + i] = static_cast<T>(g.c[i * g.ldc + begin + j]);
    }
    for (int64_t j = 0; j < n; j += kMaxRows) {
      const int64_t rows = std::min<int64_t>(kMaxRows, n - j), ahead_step = rows / across + 1;
      // The next columns, prefetched evenly over all steps.
      const S* ahead = g.b.data + (begin + j + rows) * g.b.column;
      const auto kernels = kernels_of(rows);
      for (int64_t p = 0; p < block_k.count; ++p) {
        const int64_t at = block_k.begin(p), depth = block_k.size(p);
        const Matrix<T> b = lines(begin + j, rows, at, depth);
        for (int64_t i = 0; i < width; i += kPanel<T>) {
          const int64_t panel = std::min(kPanel<T>, width - i);
          kernels[panel > size](depth, b.data, b.row, packed_a + at * width + i * depth, panel, sums + j * width + i,
                                width, panel, p == 0 ? g.beta : T(1), reinterpret_cast<const T*>(ahead), ahead_step);
          ahead += depth * ahead_step * sizeof(T) / sizeof(S);
        }
      }
    }
    pack_panel(transposed, sums, width, 1, n, n, g.m);
    finish(g, Sums<T>{transposed, n}, 0, begin, g.m, n);
    if constexpr (std::is_same_v<C, T>) {
      for (int64_t i = 0; i < g.m; ++i) simd::convert(g.c + i * g.ldc + begin, transposed + i * n, n);
    }
  }

 private:
  // The kernels for one vector and for two. Only those of whole tiles prefetch, since most tiles are whole.
  std::array<MicroKernel<T>, 2> kernels_of(int64_t rows) const {
    const auto streamed = []<Prefetch level>(std::integral_constant<Prefetch, level>) {
      return std::array<MicroKernel<T>, 2>{micro_kernel<T, StreamedRowsA<level>, Pairs, kMaxRows, 1>,
                                           micro_kernel<T, StreamedRowsA<level>, Pairs, kMaxRows, 2>};
    };
    const auto& others = micro_kernels<T, RowsA, Pairs>;
    if (rows < kMaxRows) return {others[0][rows - 1], others[1][rows - 1]};
    const int64_t bytes = rows * std::min(g.k, block_k.most() * per_word) * static_cast<int64_t>(sizeof(S));
    if (prefetch_level(bytes) == Prefetch::into_l1) {
      return streamed(std::integral_constant<Prefetch, Prefetch::into_l1>());
    }
    return streamed(std::integral_constant<Prefetch, Prefetch::into_l2>());
  }

  // Elements (words if Pairs) [at, at + depth) of b's columns j … j + rows - 1, as rows.
  Matrix<T> lines(int64_t j, int64_t rows, int64_t at, int64_t depth) const {
    const S* b = g.b.data + j * g.b.column + at * per_word;
    if constexpr (Pairs) {
      return {reinterpret_cast<const T*>(b), g.b.column / 2, 1};
    } else if constexpr (std::is_same_v<S, T>) {
      return {b, g.b.column, 1};
    } else {
      T* space = scratch<T>(Scratch::gemm_b, rows * depth);
      for (int64_t r = 0; r < rows; ++r) simd::convert(space + r * depth, b + r * g.b.column, depth);
      return {space, depth, 1};
    }
  }

  const Product<S, C>& g;
  const Split block_k{g.k / per_word,
                      4096 / static_cast<int64_t>(sizeof(T))};  // b's columns of one tile fill most of L1
  const int64_t width = (g.m + size - 1) / size * size, across = (g.m + kPanel<T> - 1) / kPanel<T>;
};

// Transposing c must cost less than packing b would, and the panels of a, which are read once for every tile of
// columns, must stay in the cache. Pairs: the columns of b must consist of whole, aligned words.
template <bool Pairs, class S, class C>
bool suits_transposed_output(const Product<S, C>& g) {
  constexpr int64_t per_word = Pairs ? 2 : 1;
  constexpr int64_t most_bytes = 2 << 20;
  const bool whole = !Pairs || (g.k % 2 == 0 && g.b.column % 2 == 0 && reinterpret_cast<uintptr_t>(g.b.data) % 4 == 0);
  // Twice as many rows if there are enough columns for the threads to divide evenly.
  const int64_t share = g.n >= 16 * TransposedOutput<S, C, Pairs>::kColumns ? 2 : 1;
  return g.b.row == 1 && whole && 3 * g.m <= share * g.k / per_word && g.m <= gemm_tuning().transposed_rows &&
         g.m * g.k * static_cast<int64_t>(sizeof(computes_t<S>)) / per_word <= most_bytes;
}

}  // namespace pg::cpu

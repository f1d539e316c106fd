#pragma once
// One step of the two outer loops of the matrix product (gemm.cpp): packing, and multiplying panels of rows by blocks
// of columns.
#include <algorithm>
#include <array>

#include "tensor/cpu/gemm/epilogue.h"
#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/kernel.h"
#include "tensor/cpu/gemm/shared_ranges.h"
#include "tensor/cpu/scratch.h"

namespace pg::cpu {

template <class T>
inline constexpr int64_t kBlockN = 16 * simd::Vec<T>::size;  // columns of a block of b
// A panel of a with this many bytes of each row fills about half of an L1 of 32 KB.
inline constexpr int64_t kBytesK = 1536;
// Bytes of a row in a block of K: kBlockN columns of b fill 3/8 of L2, because another thread may share it. Twice
// kBytesK at most, which an L2 of 2 MB has room for: the sums are then stored and read half as often
// (docs/benchmarks/LOG.md, 2026-11-26).
template <class T>
int64_t block_depth_of_l2(int64_t l2) {
  return std::clamp(3 * l2 / 8 / kBlockN<T>, kBytesK, 2 * kBytesK);
}
// Depth of a block of `columns` columns of b. More than kBlockN of them fill at most 3/4 of L2.
template <class T>
int64_t block_k(int64_t columns) {
  const int64_t deep = std::is_same_v<T, float> ? gemm_tuning().block_depth : block_depth_of_l2<T>(l2_bytes());
  const int64_t most = columns > kBlockN<T> ? std::max(kBytesK / 4, 3 * l2_bytes() / 4 / columns) : deep;
  return std::min(deep, most) / static_cast<int64_t>(sizeof(T));
}

// Columns of c and b.
struct Columns {
  int64_t begin, count;
};

// A panel of b, in the memory from which the micro-kernel reads it.
template <class T>
struct PanelB {
  const T* data;
  int64_t ld;
};
// The panels of the columns that are multiplied at once: of three blocks at most.
template <class T>
using PanelsB = std::array<PanelB<T>, 3 * kBlockN<T> / kPanel<T>>;

// The work of one step of the two outer loops: rows [row, row + panels.n) of c, k in [k, k + depth).
template <class S, class C, bool Pairs>
struct PanelBlock {
  using T = computes_t<S>;
  static constexpr int64_t per_word = Pairs ? 2 : 1;
  static constexpr bool in_c = std::is_same_v<C, T>;  // the sums are kept in c
  const Product<S, C>& g;
  int64_t row, k, depth;  // k and depth in words of the panels
  Split panels;           // of the rows
  bool direct;            // b is read in place
  T* packed_a;            // null: a is read in place
  T* partial;             // [panels.n, n]: sums between two blocks of K if c cannot hold them; null with one block
  bool first, last;
  int64_t first_panel = 0;  // of packed_a

  // Panel ii of a, [depth, rows of the panel], with space for the elements that pack_panel writes beyond it.
  T* panel_a(int64_t ii) const {
    const int64_t rows_before = panels.begin(ii) - panels.begin(first_panel);
    return packed_a + rows_before * depth + (ii - first_panel) * simd::Vec<T>::size;
  }
  // Elements of this many panels of a.
  static int64_t packed_size(int64_t rows, int64_t depth, int64_t panels) {
    return rows * depth + panels * simd::Vec<T>::size;
  }

  // Row `at` of the block in a itself, as words.
  const T* in_place_a(int64_t at) const {
    return reinterpret_cast<const T*>(g.a.data + (row + at) * g.a.row + k * per_word * g.a.column);
  }

  void pack_a(int64_t begin, int64_t end) const {
    for (int64_t ii = begin; ii < end; ++ii) {
      const int64_t at = panels.begin(ii), rows = panels.size(ii);
      pack(panel_a(ii), g.a.data + (row + at) * g.a.row + k * per_word * g.a.column, g.a.row, g.a.column, rows, rows);
    }
  }
  void pack(T* dst, const S* src, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t width) const {
    if constexpr (Pairs) {
      pack_pairs(dst, src, line_stride, k_stride, lines, width, std::min(2 * depth, g.k - 2 * k));
    } else {
      pack_panel(dst, src, line_stride, k_stride, lines, width, depth);
    }
  }

  // Prefetches elements [k, k + depth) of a column of a transposed b into L2. One instruction in a loop that is not
  // unrolled: many prefetch instructions, each with few addresses, are slower (docs/benchmarks/LOG.md, 2026-11-25).
  void prefetch_column(int64_t j) const {
    const auto* at = reinterpret_cast<const char*>(g.b.data + k * per_word + j * g.b.column);
    const char* const end = at + depth * per_word * static_cast<int64_t>(sizeof(S));
#pragma GCC unroll 1
    for (; at < end; at += 64) __builtin_prefetch(at, 0, 2);
  }

  // The panels of nc columns of b from j0 on, packed or in place. The next call of one thread overwrites them.
  PanelsB<T> panels_of_b(int64_t j0, int64_t nc) const {
    PanelsB<T> panels_b;
    T* packed_b = scratch<T>(Scratch::gemm_b, depth * (nc + kPanel<T>)+simd::Vec<T>::size);
    // The panels that are packed by rows: all whole ones if the rows of b are contiguous.
    const int64_t by_row = !direct && g.b.column == 1 ? nc / kPanel<T> : 0;
    if (by_row > 0) {
      const S* b = g.b.data + k * per_word * g.b.row + j0;
      if constexpr (Pairs) {
        pack_rows_of_pairs(packed_b, kPanel<T> * depth, b, g.b.row, by_row, std::min(2 * depth, g.k - 2 * k));
      } else {
        pack_rows(packed_b, kPanel<T> * depth, b, g.b.row, by_row, depth);
      }
    }
    for (int64_t jj = 0; jj < nc; jj += kPanel<T>) {
      if (jj / kPanel<T> < by_row) {
        panels_b[jj / kPanel<T>] = {packed_b + jj * depth, kPanel<T>};
        continue;
      }
      const int64_t columns = std::min(kPanel<T>, nc - jj);
      const S* b = g.b.data + k * per_word * g.b.row + (j0 + jj) * g.b.column;
      if (direct && columns % simd::Vec<T>::size == 0) {
        if constexpr (std::is_same_v<S, T>) panels_b[jj / kPanel<T>] = {b, g.b.row};
      } else {
        const int64_t width = columns <= simd::Vec<T>::size ? simd::Vec<T>::size : kPanel<T>;
        pack(packed_b + jj * depth, b, g.b.column, g.b.row, columns, width);
        panels_b[jj / kPanel<T>] = {packed_b + jj * depth, width};
      }
    }
    return panels_b;
  }

  // Multiplies the panels [begin, end) of rows by nc <= kBlockN columns from j0 on. The `next` columns of a transposed
  // b, which this thread will probably pack after these, are prefetched meanwhile: the processor does not predict them.
  void multiply(int64_t begin, int64_t end, int64_t j0, int64_t nc, Columns next) const {
    if (direct || g.b.row != 1 || g.b.column == 1) next.count = 0;
    multiply(begin, end, j0, nc, panels_of_b(j0, nc), next);
  }

  // Multiplies panels of rows, those of `ranges` that this thread takes, by all columns, at most three blocks. Unless a
  // is read in place, the few panels that are taken at once are packed: they stay in this core's cache, and no thread
  // waits until all of a is packed.
  void multiply_all_columns(SharedRanges& ranges, int64_t own, bool in_place) const {
    int64_t begin, end;
    if (!ranges.take(own, begin, end)) return;
    const PanelsB<T> panels_b = panels_of_b(0, g.n);
    PanelBlock part = *this;
    constexpr int64_t few = SharedRanges::kMostTaken;
    if (!in_place) part.packed_a = scratch<T>(Scratch::gemm_a, packed_size(few * kMaxRows, depth, few));
    do {
      part.first_panel = begin;
      if (!in_place) part.pack_a(begin, end);
      part.multiply(begin, end, 0, g.n, panels_b, {0, 0});
    } while (ranges.take(own, begin, end));
  }

 private:
  void multiply(int64_t begin, int64_t end, int64_t j0, int64_t nc, const PanelsB<T>& panels_b, Columns next) const {
    const int64_t tiles = (end - begin) * ((nc + kPanel<T> - 1) / kPanel<T>);
    int64_t tile_number = 0, fetched = 0;
    const bool by_rows = kAllForms<T> && !packed_a && g.a.column == 1;
    using InPlace = std::conditional_t<kAllForms<T>, RowsA, ColumnsA>;
    const auto& kernels = by_rows ? micro_kernels<T, InPlace, Pairs> : micro_kernels<T, ColumnsA, Pairs>;
    alignas(64) T tile[in_c ? 1 : kMaxRows * kPanel<T>];
    const auto sums_at = [&]([[maybe_unused]] int64_t at, [[maybe_unused]] int64_t column) -> Sums<T> {
      if constexpr (in_c) {
        return {g.c + (row + at) * g.ldc + column, g.ldc};
      } else if (partial) {
        return {partial + at * g.n + column, g.n};
      } else {
        return {tile, kPanel<T>};
      }
    };
    for (int64_t ii = begin; ii < end; ++ii) {
      const int64_t at = panels.begin(ii), rows = panels.size(ii);
      const T* a = packed_a ? panel_a(ii) : in_place_a(at);
      const int64_t lda = packed_a ? rows : by_rows ? g.a.row / per_word : g.a.column;
      for (int64_t jj = 0; jj < nc; jj += kPanel<T>) {
        const int64_t columns = std::min(kPanel<T>, nc - jj);
        const PanelB<T> b = panels_b[jj / kPanel<T>];
        const Sums<T> c = sums_at(at, j0 + jj);
        ++tile_number;
        for (; next.count > 0 && fetched < tile_number * next.count / tiles; ++fetched)
          prefetch_column(next.begin + fetched);
        if constexpr (!in_c) {
          if (first && g.beta != T(0)) begin_sums(g, c, row + at, j0 + jj, rows, columns);
        }
        if (last) prefetch_pre(g, row + at, j0 + jj, rows, columns);
        kernels[columns > simd::Vec<T>::size][rows - 1](depth, a, lda, b.data, b.ld, c.data, c.ld, columns,
                                                        first ? g.beta : T(1), nullptr, 0);
        if (last) finish(g, c, row + at, j0 + jj, rows, columns);
      }
    }
  }
};

}  // namespace pg::cpu

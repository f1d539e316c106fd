#pragma once
// Products with so few rows that b is read once: packing it would cost more than the arithmetic. The chains over k are
// those of the micro-kernel; b is read directly from memory.
#include <algorithm>
#include <array>
#include <utility>

#include "tensor/cpu/gemm/gemm.h"
#include "tensor/cpu/gemm/kernel.h"

namespace pg::cpu {

inline constexpr int kFewRows = 4;
// Rows of products with a transposed b: as many as have their sums in registers beside a block of b.
#if defined(__AVX512F__)
inline constexpr int kSkinnyRows = 8;
#else
inline constexpr int kSkinnyRows = kFewRows;
#endif

// c [m, n] = beta·c + a [m, k] · b [k, n] where b holds S. S may be Pair, two steps of k each: k then counts pairs. a
// holds pairs too if one instruction multiplies them (Dot), else floats, twice as many. The elements of a row of a
// are contiguous.
template <class S, class T>
struct SkinnyProduct {
  int64_t m, n, k;
  const T* a;
  int64_t lda;
  Matrix<S> b;
  T* c;
  int64_t ldc;
  T beta;
  // What the caller reads next, as large as b: prefetched in place of b's own columns. Null: nothing.
  const S* next = nullptr;
  // If b's columns follow each other in memory and do not fit into L1, the next columns are prefetched, because the
  // processor cannot follow as many columns at once as are computed. `columns`: computed at once.
  Prefetch prefetch(int64_t columns) const {
    const int64_t column_bytes = k * static_cast<int64_t>(sizeof(S));
    const bool ahead = b.column == k && (next || n * column_bytes > 32 * 1024);
    return ahead ? prefetch_level(columns * column_bytes) : Prefetch::none;
  }
};

// When skinny_groups prefetches: in one loop before each block of b, or in two parts between the multiply-adds.
// `before` without a level prefetches nothing.
enum class Ahead : uint8_t { never, before, between };

// Computes the columns [j, j + Groups vectors) of c; a single group is cut off at n. b's columns are contiguous (b =
// transpose(w) of a layer's w [N, K]): blocks of size × size are transposed in registers. The chains of one group wait
// for their own additions, so several groups are computed at once.
// Each step also prefetches a part of the columns of the next call, or of g.next, to `level`.
template <int Rows, int Groups, Ahead When, bool Dot, class S, class T>
void skinny_groups(const SkinnyProduct<S, T>& g, int64_t j, [[maybe_unused]] Prefetch level) {
  using simd::Vec;
  constexpr int size = Vec<T>::size;
  constexpr bool split_pairs = std::is_same_v<S, simd::Pair> && !Dot;
  constexpr int64_t line = 64 / sizeof(S);  // whole cache lines of b: rows far apart may evict one another from L1
  const S* ahead = g.next ? g.next + j * g.b.column : g.b.data + (j + Groups * size) * g.b.column;
  const auto columns = [&](int v) { return Groups > 1 ? size : std::min<int64_t>(size, g.n - j - v * size); };
  Vec<T> sum[Groups][Rows];
  for (int v = 0; v < Groups; ++v) {
    for (int r = 0; r < Rows; ++r) {
      const T* c = g.c + r * g.ldc + j + v * size;
      sum[v][r] = g.beta == T(0) ? Vec<T>(T(0)) : simd::load(c, columns(v)) * g.beta;
    }
  }
  const auto block_of = [&]<bool Whole>(std::bool_constant<Whole>, int v, int64_t k, int64_t depth) {
    Vec<T> block[size];
    load_transposed<Whole>(block, g.b.data + (j + v * size) * g.b.column + k, g.b.column, columns(v), depth);
#pragma GCC unroll 16
    for (int i = 0; i < size; ++i) {
      if (!Whole && i >= depth) break;
      if constexpr (Whole && When == Ahead::between) {
        constexpr int part = size / 2;
        if (i % part == 0) {
#pragma GCC unroll 8
          for (int64_t at = 0; at < part * size; at += line) prefetch_to<Prefetch::into_l2>(ahead + at);
          ahead += part * size;
        }
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const T* a = g.a + r * g.lda + (k + i) * (split_pairs ? 2 : 1);
        if constexpr (!std::is_same_v<S, simd::Pair>) {
          sum[v][r] = fma(Vec<T>(*a), block[i], sum[v][r]);
        } else if constexpr (Dot) {
          sum[v][r] = simd::dot(Vec<T>(*a), block[i], sum[v][r]);
        } else {
          sum[v][r] = fma(Vec<T>(a[0]), firsts(block[i]), sum[v][r]);
          sum[v][r] = fma(Vec<T>(a[1]), seconds(block[i]), sum[v][r]);
        }
      }
    }
  };
  int64_t k = 0;
  for (; k + line <= g.k; k += line) {
    if constexpr (When == Ahead::before) {
      const S* const end = level == Prefetch::none ? ahead : ahead + Groups * size * line;
      // One instruction: the processor follows the addresses of an instruction and runs ahead of them.
      if (level == Prefetch::into_l1) {
#pragma GCC unroll 1
        for (; ahead < end; ahead += line) prefetch_to<Prefetch::into_l1>(ahead);
      } else {
#pragma GCC unroll 1
        for (; ahead < end; ahead += line) prefetch_to<Prefetch::into_l2>(ahead);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < Groups; ++v) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < line; i += size) block_of(std::true_type(), v, k + i, size);
    }
  }
  for (; k < g.k; k += size) {
    for (int v = 0; v < Groups; ++v) block_of(std::false_type(), v, k, std::min<int64_t>(size, g.k - k));
  }
  for (int v = 0; v < Groups; ++v) {
    for (int r = 0; r < Rows; ++r) store(g.c + r * g.ldc + j + v * size, sum[v][r], columns(v));
  }
}

// Vectors of columns that are computed at once: few if the next are prefetched, which need space in the cache too, or
// if the sums of many rows fill the registers.
template <int Rows, class T>
constexpr int64_t skinny_group_count(bool prefetches) {
  constexpr int64_t size = simd::Vec<T>::size;
  return prefetches ? std::max<int64_t>(1, 16 / size) : Rows > kFewRows ? 1 : 2;
}
template <int Rows, Ahead When, bool Dot, class S, class T>
void skinny_columns(const SkinnyProduct<S, T>& g, Prefetch level) {
  constexpr int64_t size = simd::Vec<T>::size, groups = skinny_group_count<Rows, T>(When != Ahead::never);
  constexpr int64_t line = 64 / sizeof(S);
  const bool first = When != Ahead::never && level != Prefetch::none && !g.next;
  for (int64_t i = 0; first && i < std::min(groups * size, g.n) * g.k; i += line) {
    // The columns of the first call.
    level == Prefetch::into_l1 ? prefetch_to<Prefetch::into_l1>(g.b.data + i)
                               : prefetch_to<Prefetch::into_l2>(g.b.data + i);
  }
  int64_t j = 0;
  for (; j + groups * size <= g.n; j += groups * size) skinny_groups<Rows, groups, When, Dot>(g, j, level);
  for (; j < g.n; j += size) skinny_groups<Rows, 1, When, Dot>(g, j, level);
}
template <int Rows, bool Dot, class S, class T>
void skinny_columns(const SkinnyProduct<S, T>& g) {
  if constexpr (kAllForms<T>) {
    const Prefetch level = g.prefetch(skinny_group_count<Rows, T>(true) * simd::Vec<T>::size);
    if (level == Prefetch::into_l2 && gemm_tuning().prefetch_between)
      return skinny_columns<Rows, Ahead::between, Dot>(g, level);
    // With many rows the test of the level costs next to nothing, and fewer forms compile faster.
    if (level != Prefetch::none || Rows > kFewRows) return skinny_columns<Rows, Ahead::before, Dot>(g, level);
  }
  if constexpr (!kAllForms<T> || Rows <= kFewRows) skinny_columns<Rows, Ahead::never, Dot>(g, Prefetch::none);
}

// b's rows are contiguous: a few of them at a time are added to a stretch of c that stays in L1.
template <int Rows, class S, class T>
void skinny_rows(const SkinnyProduct<S, T>& g) {
  using simd::Vec;
  constexpr int size = Vec<T>::size;
  constexpr int64_t stretch = 4096 / sizeof(T), few = 8;
  for (int64_t j0 = 0; j0 < g.n; j0 += stretch) {
    const int64_t end = std::min(g.n, j0 + stretch);
    int64_t k = 0;
    do {
      const int64_t depth = std::min(few, g.k - k);
      const T* a = g.a + k;
      const S* b = g.b.data + k * g.b.row;
      const T beta = k == 0 ? g.beta : T(1);
      for (int64_t j = j0; j < end; j += size) {
        const int64_t columns = std::min<int64_t>(size, end - j);
        Vec<T> sum[Rows];
        for (int r = 0; r < Rows; ++r) {
          sum[r] = beta == T(0) ? Vec<T>(T(0)) : simd::load(g.c + r * g.ldc + j, columns) * beta;
        }
        for (int64_t i = 0; i < depth; ++i) {
          const Vec<T> bk =
              columns == size ? simd::load(b + i * g.b.row + j) : simd::load(b + i * g.b.row + j, columns);
#pragma GCC unroll 4
          for (int r = 0; r < Rows; ++r) sum[r] = fma(Vec<T>(a[r * g.lda + i]), bk, sum[r]);
        }
        for (int r = 0; r < Rows; ++r) store(g.c + r * g.ldc + j, sum[r], columns);
      }
      k += few;
    } while (k < g.k);
  }
}

template <class S, class C>
bool is_skinny(const Product<S, C>& g) {
  return g.b.row == 1 ? g.m <= kSkinnyRows : g.b.column == 1 && g.m <= kFewRows;
}
// One row, for callers that never have more: the code for more rows is not compiled for them. b's columns are
// contiguous.
template <bool Dot = simd::kHasDot, class S, class T>
void multiply_row(const SkinnyProduct<S, T>& g) {
  skinny_columns<1, Dot>(g);
}
// b's columns are contiguous and g.m is at most kSkinnyRows, or b's rows are and g.m is at most kFewRows.
template <bool Dot = simd::kHasDot, class S, class T>
void multiply_skinny(const SkinnyProduct<S, T>& g) {
  using Run = void (*)(const SkinnyProduct<S, T>&);
  if constexpr (!std::is_same_v<S, simd::Pair>) {
    constexpr Run by_rows[] = {skinny_rows<1, S, T>, skinny_rows<2, S, T>, skinny_rows<3, S, T>, skinny_rows<4, S, T>};
    if (g.b.row != 1) return by_rows[g.m - 1](g);
  }
  constexpr auto by_columns = []<int... R>(std::integer_sequence<int, R...>) {
    return std::array<Run, sizeof...(R)>{skinny_columns<R + 1, Dot, S, T>...};
  }
  (std::make_integer_sequence<int, kSkinnyRows>());
  by_columns[static_cast<size_t>(g.m - 1)](g);
}

}  // namespace pg::cpu

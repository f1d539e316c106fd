#pragma once
// The two inner parts of the matrix product: packing a panel, and the micro-kernel that multiplies two panels.
#include <algorithm>
#include <array>
#include <utility>

#include "tensor/cpu/gemm/tuning.h"
#include "tensor/cpu/simd/transpose.h"

namespace pg::cpu {

// Rows of c that the micro-kernel keeps in registers, each with two vectors of columns: as many accumulators as fit in
// the register file together with two vectors of b and the broadcast element of a.
#if defined(__AVX512F__)
inline constexpr int kMaxRows = 12;
#elif defined(__aarch64__)
inline constexpr int kMaxRows = 10;  // x86 broadcasts from memory; here elements of a take registers too
#else
inline constexpr int kMaxRows = 6;
#endif
inline constexpr int kMaxVecs = 2;

// Whether products of T have the forms that only make some sizes faster. f64 is for exact comparisons: it has panels of
// packed operands only, which compile faster and have the same bits.
template <class T>
inline constexpr bool kAllForms = !std::is_same_v<T, double>;

// The next two functions pack one vector of lines: dst[k·width + i] is element k of line i, and 0 after the last line.
// Here and below S is T, or bf16 if T is float.
// They store whole vectors: elements stored past the width are overwritten by the next k.
template <class T, class S>
void pack_across(T* dst, int64_t width, const S* src, int64_t line_stride, int64_t lines, int64_t depth) {
  constexpr int size = simd::Vec<T>::size;
  int64_t k = 0;
  if constexpr (std::is_same_v<T, float> && std::is_same_v<S, BFloat16>) {
    // Pairs are transposed as words, and widened after that.
    for (; line_stride % 2 == 0 && k + 2 * size <= depth; k += 2 * size) {
      simd::Vec<T> block[size];
      load_transposed<true>(block, reinterpret_cast<const simd::Pair*>(src + k), line_stride / 2, lines, size);
#pragma GCC unroll 16
      for (int j = 0; j < size; ++j) {
        store(dst + (k + 2 * j) * width, simd::firsts(block[j]));
        store(dst + (k + 2 * j + 1) * width, simd::seconds(block[j]));
      }
    }
  }
  for (; k + size <= depth; k += size) {
    simd::Vec<T> block[size];
    load_transposed<true>(block, src + k, line_stride, lines, size);
#pragma GCC unroll 16
    for (int j = 0; j < size; ++j) store(dst + (k + j) * width, block[j]);
  }
  if (k == depth) return;
  simd::Vec<T> block[size];
  load_transposed<false>(block, src + k, line_stride, lines, depth - k);
#pragma GCC unroll 16
  for (int j = 0; j < size; ++j) {
    if (j < depth - k) store(dst + (k + j) * width, block[j]);
  }
}
template <class T, class S>
void pack_along(T* dst, int64_t width, const S* src, int64_t k_stride, int64_t lines, int64_t depth) {
  if (lines == simd::Vec<T>::size) {
    for (int64_t k = 0; k < depth; ++k) store(dst + k * width, simd::load(src + k * k_stride));
  } else {
    for (int64_t k = 0; k < depth; ++k) store(dst + k * width, simd::load(src + k * k_stride, lines));
  }
}

// dst[k·width + i] = src[i·line_stride + k·k_stride] for k < depth, i < lines; 0 for lines <= i < width. Writes up to a
// vector more than width·depth elements, so panels must be packed in their order in memory.
// A panel of a is `rows` lines wide, a panel of b one or two vectors: the elements that the micro-kernel reads in one
// step of k are contiguous.
template <class T, class S>
void pack_panel(T* dst, const S* src, int64_t line_stride, int64_t k_stride, int64_t lines, int64_t width,
                int64_t depth) {
  constexpr int64_t size = simd::Vec<T>::size;
  // The last vector first: its stores exceed the width.
  for (int64_t g = (width - 1) / size * size; g >= 0; g -= size) {
    const int64_t from = std::clamp<int64_t>(lines - g, 0, size);
    const S* in = src + g * line_stride;
    if (line_stride == 1) {
      pack_along(dst + g, width, in, k_stride, from, depth);
    } else if (k_stride == 1) {
      pack_across(dst + g, width, in, line_stride, from, depth);
    } else {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t i = 0; i < std::min(width - g, size); ++i) {
          dst[g + k * width + i] = i < from ? static_cast<T>(in[i * line_stride + k * k_stride]) : T(0);
        }
      }
    }
  }
}

// Packs `panels` whole panels of b that lie beside each other, panel p to dst + p·step: dst[p·step + k·width + i] =
// src[k·k_stride + p·width + i], where a panel is `width` = kMaxVecs vectors wide. Whole stretches of the rows are
// read, because rows far apart lie in different pages. The rows that follow are prefetched.
template <class T, class S>
void pack_rows(T* dst, int64_t step, const S* src, int64_t k_stride, int64_t panels, int64_t depth) {
  constexpr int64_t size = simd::Vec<T>::size, width = kMaxVecs * size, line = 64 / sizeof(S), ahead = 8;
  for (int64_t k = 0; k < depth; ++k) {
    const S* row = src + k * k_stride;
    T* to = dst + k * width;
    for (int64_t at = 0; k + ahead < depth && at < panels * width; at += line) {
      __builtin_prefetch(row + ahead * k_stride + at, 0, 2);
    }
    for (int64_t p = 0; p < panels; ++p, row += width, to += step) {
#pragma GCC unroll 4
      for (int v = 0; v < kMaxVecs; ++v) store(to + v * size, simd::load(row + v * size));
    }
  }
}

// pack_panel with two elements of k in each word: dst[k·width + i] = (element 2k, element 2k + 1) of line i, with 0
// after an odd depth.
inline void pack_pairs(float* dst, const BFloat16* src, int64_t line_stride, int64_t k_stride, int64_t lines,
                       int64_t width, int64_t depth) {
  constexpr int64_t size = simd::Vec<float>::size;
  int64_t k = 0;
  if (k_stride == 1 && line_stride % 2 == 0) {
    k = depth / 2;
    pack_panel(dst, reinterpret_cast<const simd::Pair*>(src), line_stride / 2, 1, lines, width, k);
  } else if (line_stride == 1) {
    k = depth / 2;
    for (int64_t g = (width - 1) / size * size; g >= 0; g -= size) {  // the last first, as in pack_panel()
      const int64_t from = std::clamp<int64_t>(lines - g, 0, size);
      const BFloat16* row = src + g;
      float* to = dst + g;
      if (from == size) {
        for (int64_t i = 0; i < k; ++i)
          store(to + i * width, simd::load_pairs(row + 2 * i * k_stride, row + (2 * i + 1) * k_stride));
      } else {
        for (int64_t i = 0; i < k; ++i)
          store(to + i * width, simd::load_pairs(row + 2 * i * k_stride, row + (2 * i + 1) * k_stride, from));
      }
    }
  }
  const BFloat16 zero(0.0f);
  for (; 2 * k < depth; ++k) {
    for (int64_t i = 0; i < width; ++i) {
      const BFloat16* at = src + i * line_stride + 2 * k * k_stride;
      const bool inside = i < lines, odd = inside && 2 * k + 1 < depth;
      dst[k * width + i] = static_cast<float>(simd::Pair{inside ? *at : zero, odd ? at[k_stride] : zero});
    }
  }
}

// pack_rows with two elements of k in each word, as pack_pairs packs them; depth counts elements.
inline void pack_rows_of_pairs(float* dst, int64_t step, const BFloat16* src, int64_t k_stride, int64_t panels,
                               int64_t depth) {
  constexpr int64_t size = simd::Vec<float>::size, width = kMaxVecs * size, line = 32, ahead = 8;
  for (int64_t k = 0; k < depth; k += 2) {
    const BFloat16* row = src + k * k_stride;
    float* to = dst + k / 2 * width;
    for (int64_t at = 0; k + ahead + 1 < depth && at < panels * width; at += line) {
      __builtin_prefetch(row + ahead * k_stride + at, 0, 2);
      __builtin_prefetch(row + (ahead + 1) * k_stride + at, 0, 2);
    }
    const bool pair = k + 1 < depth;
    for (int64_t p = 0; p < panels; ++p, row += width, to += step) {
#pragma GCC unroll 4
      for (int v = 0; v < kMaxVecs; ++v) {
        const BFloat16* at = row + v * size;
        store(to + v * size, pair ? simd::load_pairs(at, at + k_stride)
                                  : simd::pairs_of(simd::detail::load_halves(at), simd::detail::Halves{}));
      }
    }
  }
}

// The cache into which data that is read next is prefetched.
enum class Prefetch : uint8_t { none, into_l1, into_l2 };
// The cache level to prefetch `bytes` into, if as many others are read before they are used.
inline Prefetch prefetch_level(int64_t bytes) {
  return bytes <= gemm_tuning().prefetch_l1 ? Prefetch::into_l1 : Prefetch::into_l2;
}
template <Prefetch To>
inline void prefetch_to(const void* p) {
  if constexpr (To != Prefetch::none) __builtin_prefetch(p, 0, To == Prefetch::into_l1 ? 3 : 2);
}

// The layout of a: element (r, k) is a[r·row + k·k]. The factors are constants, so that one register addresses all
// rows; 0 stands for `lda`, which is known only at run time.
template <int Row, int K, Prefetch Ahead = Prefetch::none>
struct LayoutA {
  static constexpr int row = Row, k = K;
  static constexpr Prefetch ahead = Ahead;  // unless none, a comes from memory: the kernel also prefetches `ahead`
};
using RowsA = LayoutA<0, 1>;
template <Prefetch Ahead>
using StreamedRowsA = LayoutA<0, 1, Ahead>;
using ColumnsA = LayoutA<1, 0>;
using PackedA = ColumnsA;  // [depth, Rows], so lda = Rows

// c [Rows, columns] = beta·c + a·b over `depth` steps of k, columns <= Vecs vectors. Row k of b starts at b + k·ldb and
// has Vecs whole vectors. Each element of c is one chain of fused multiply-adds in the order of k. Pairs: a and b hold
// pairs of bf16, two steps of the chain each. If the layout says so, step k prefetches ahead + k·ahead_step.
template <class T, class Layout, bool Pairs, int Rows, int Vecs>
void micro_kernel(int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc, int64_t columns,
                  T beta, const T* ahead, int64_t ahead_step) {
  using simd::Vec;
  constexpr int size = Vec<T>::size;
  const int64_t last = columns - (Vecs - 1) * size;  // columns of the last vector
  Vec<T> sum[Rows][Vecs];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) {
      const T* at = c + r * ldc + v * size;
      if (beta == T(0)) {
        sum[r][v] = T(0);
      } else {
        sum[r][v] = (v + 1 < Vecs || last == size ? simd::load(at) : simd::load(at, last)) * beta;
      }
    }
  }
  constexpr int kTriples = Layout::row == 0 ? (Rows + 2) / 3 : 1;  // one register addresses three rows: 0, lda, 2·lda
  const T* triple[kTriples];
  for (int i = 0; i < kTriples; ++i) triple[i] = a + 3 * i * lda;
  for (int64_t k = 0; k < depth; ++k) {
    Vec<T> bk[Vecs];
    // Prefetches b by cache lines, also the next panel, which the processor cannot predict.
#pragma GCC unroll 4
    for (int at = 0; Layout::ahead == Prefetch::none && at < Vecs * size; at += 64 / sizeof(T))
      __builtin_prefetch(b + 8 * ldb + at);
    if constexpr (Layout::ahead != Prefetch::none) {
      prefetch_to<Layout::ahead>(ahead);
      ahead += ahead_step;
    }
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) bk[v] = simd::load(b + v * size);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      T ak;  // a copy, because a may hold pairs of bf16
      std::memcpy(&ak, Layout::row == 0 ? triple[r / 3 % kTriples] + r % 3 * lda : a + r * Layout::row, sizeof(T));
#pragma GCC unroll 4
      for (int v = 0; v < Vecs; ++v) {
        if constexpr (Pairs) {
          sum[r][v] = simd::dot(Vec<T>(ak), bk[v], sum[r][v]);
        } else {
          sum[r][v] = fma(Vec<T>(ak), bk[v], sum[r][v]);
        }
      }
    }
    if constexpr (Layout::row == 0) {
#pragma GCC unroll 4
      for (int i = 0; i < kTriples; ++i) ++triple[i];
    } else {
      a += Layout::k ? Layout::k : lda;
    }
    b += ldb;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < Vecs; ++v) {
      T* at = c + r * ldc + v * size;
      if (v + 1 < Vecs || last == size) {
        store(at, sum[r][v]);
      } else {
        store(at, sum[r][v], last);
      }
    }
  }
}

template <class T>
using MicroKernel = void (*)(int64_t depth, const T* a, int64_t lda, const T* b, int64_t ldb, T* c, int64_t ldc,
                             int64_t columns, T beta, const T* ahead, int64_t ahead_step);

// micro_kernels<T, Layout, Pairs>[vecs - 1][rows - 1]
template <class T, class Layout, bool Pairs = false>
inline constexpr auto micro_kernels = []<int... R>(std::integer_sequence<int, R...>) {
  return std::array{std::array<MicroKernel<T>, kMaxRows>{micro_kernel<T, Layout, Pairs, R + 1, 1>...},
                    std::array<MicroKernel<T>, kMaxRows>{micro_kernel<T, Layout, Pairs, R + 1, 2>...}};
}
(std::make_integer_sequence<int, kMaxRows>());

// Columns of one tile of c.
template <class T>
inline constexpr int64_t kPanel = kMaxVecs* simd::Vec<T>::size;

// Divides [0, n) into the fewest parts of at most `most`, all of nearly the same size: a last panel of one row would
// waste most of the micro-kernel.
struct Split {
  Split(int64_t n, int64_t most) : n(n), count(n > most ? (n + most - 1) / most : 1) {}
  int64_t begin(int64_t i) const { return i * n / count; }
  int64_t size(int64_t i) const { return begin(i + 1) - begin(i); }
  int64_t most() const { return (n + count - 1) / count; }  // the largest size
  int64_t n, count;
};

}  // namespace pg::cpu

#pragma once
// The two inner parts of the matrix product: packing a panel, and the micro-kernel that multiplies two panels.
#include <algorithm>
#include <array>
#include <utility>

#include "tensor/cpu/simd/vec_bf16.h"

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

// Transposes the size × size block whose rows are x: log2(size) rounds that interleave row i with row i + size/2.
template <class T>
inline void transpose(simd::Vec<T> (&x)[simd::Vec<T>::size]) {
  constexpr int size = simd::Vec<T>::size;
  constexpr auto interleave =
      []<int... I>(simd::Vec<T> a, simd::Vec<T> b, auto half, std::integer_sequence<int, I...>) {
    constexpr int offset = half() * size / 2;
    return simd::Vec<T>(__builtin_shufflevector(a.v, b.v, (offset + I / 2 + (I % 2) * size)...));
  };
  constexpr auto lanes = std::make_integer_sequence<int, size>();
#pragma GCC unroll 4
  for (int round = 1; round < size; round *= 2) {
    simd::Vec<T> y[size];
#pragma GCC unroll 16
    for (int i = 0; i < size / 2; ++i) {
      y[2 * i] = interleave(x[i], x[i + size / 2], std::integral_constant<int, 0>(), lanes);
      y[2 * i + 1] = interleave(x[i], x[i + size / 2], std::integral_constant<int, 1>(), lanes);
    }
#pragma GCC unroll 16
    for (int i = 0; i < size; ++i) x[i] = y[i];
  }
}

#if defined(__AVX2__) && !defined(__AVX512F__)
// Works within the halves of a register first: each round above would cross them.
inline void transpose(simd::Vec<float> (&x)[8]) {
  __m256 pairs[8], fours[8];
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(x[i].v, x[i + 1].v);
    pairs[i + 1] = _mm256_unpackhi_ps(x[i].v, x[i + 1].v);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[i].v = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    x[i + 4].v = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}
#endif

#if defined(__AVX512F__)
// The 16 × 16 block of 4-byte elements at src, transposed. Quarters of four rows are put side by side as they are
// loaded, so that only shuffles within the quarters of a register are left. All quarters of a row are loaded at once:
// rows a multiple of 4 KB apart would evict one another from L1 before the next quarter is read.
inline void load_transposed_words(simd::Vec<float> (&x)[16], const float* src, int64_t stride) {
  __m512 quarters[4][4];  // [k / 4][i]: rows i, 4 + i, 8 + i, 12 + i
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
      const float* row = src + i * stride + 4 * q;
      __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(row));
      v = _mm512_mask_broadcast_f32x4(v, 0x00f0, _mm_loadu_ps(row + 4 * stride));
      v = _mm512_mask_broadcast_f32x4(v, 0x0f00, _mm_loadu_ps(row + 8 * stride));
      quarters[q][i] = _mm512_mask_broadcast_f32x4(v, 0xf000, _mm_loadu_ps(row + 12 * stride));
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < 4; ++q) {
    __m512d pairs[4];  // the masked forms, because the plain ones trip a warning in g++ 12
#pragma GCC unroll 2
    for (int i = 0; i < 4; i += 2) {
      pairs[i] = _mm512_castps_pd(_mm512_maskz_unpacklo_ps(0xffff, quarters[q][i], quarters[q][i + 1]));
      pairs[i + 1] = _mm512_castps_pd(_mm512_maskz_unpackhi_ps(0xffff, quarters[q][i], quarters[q][i + 1]));
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      x[4 * q + 2 * i].v = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, pairs[i], pairs[i + 2]));
      x[4 * q + 2 * i + 1].v = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, pairs[i], pairs[i + 2]));
    }
  }
}
#endif

// Loads a block of `lines` <= size rows of src, `depth` <= size elements each (exactly size if Whole), transposed: row
// k of the result holds element k of every line, then 0. One register addresses three lines, as below. Here and below S
// is T, or bf16 if T is float.
template <bool Whole, class T, class S>
inline void load_transposed(simd::Vec<T> (&block)[simd::Vec<T>::size], const S* src, int64_t line_stride, int64_t lines,
                            int64_t depth) {
  constexpr int size = simd::Vec<T>::size;
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float> && sizeof(S) == sizeof(float)) {
    if (Whole && lines == size) return load_transposed_words(block, reinterpret_cast<const float*>(src), line_stride);
  }
#endif
  if (Whole && lines == size) {
#pragma GCC unroll 16
    for (int i = 0; i < size; ++i) block[i] = simd::load(src + i / 3 * (3 * line_stride) + i % 3 * line_stride);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < size; ++i) {
      block[i] = T(0);
      if (i < lines) block[i] = simd::load(src + i * line_stride, depth);
    }
  }
  transpose(block);
}

// The next two functions pack one vector of lines: dst[k·width + i] is element k of line i, and 0 after the last line.
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

// The layout of a: element (r, k) is a[r·row + k·k]. The factors are constants, so that one register addresses all
// rows; 0 stands for `lda`, which is known only at run time.
template <int Row, int K, bool Streamed = false>
struct LayoutA {
  static constexpr int row = Row, k = K;
  static constexpr bool streamed = Streamed;  // a comes from memory: the kernel also prefetches `ahead`
};
using RowsA = LayoutA<0, 1>;
using StreamedRowsA = LayoutA<0, 1, true>;
using ColumnsA = LayoutA<1, 0>;
using PackedA = ColumnsA;  // [depth, Rows], so lda = Rows

// c [Rows, columns] = beta·c + a·b over `depth` steps of k, columns <= Vecs vectors. Row k of b starts at b + k·ldb and
// has Vecs whole vectors. Each element of c is one chain of fused multiply-adds in the order of k. Pairs: a and b hold
// pairs of bf16, two steps of the chain each. Streamed: step k prefetches ahead + k·ahead_step.
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
    for (int at = 0; !Layout::streamed && at < Vecs * size; at += 64 / sizeof(T)) __builtin_prefetch(b + 8 * ldb + at);
    if constexpr (Layout::streamed) {
      __builtin_prefetch(ahead);
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

#pragma once
// Transposing square blocks in registers.
#include <utility>

#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

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
// k of the result holds element k of every line, then 0. One register addresses three lines, as in the micro-kernel. S
// is T, or bf16 if T is float, or words of two bf16.
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

}  // namespace pg::cpu

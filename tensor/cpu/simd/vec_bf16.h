#pragma once
// bf16 in memory, f32 in registers: loads widen, stores round to nearest, ties to even (NaN stays NaN), as BFloat16
// does.
#include <algorithm>

#include "tensor/cpu/simd/vec.h"
#include "tensor/dtype.h"

namespace pg::simd {

namespace detail {
constexpr int kFloats = Vec<float>::size;
typedef uint16_t Halves __attribute__((vector_size(kFloats * 2)));
typedef uint32_t Words __attribute__((vector_size(kFloats * 4)));

inline Vec<float> widened(Halves halves) {
  const Words words = __builtin_convertvector(halves, Words) << 16;
  Vec<float> x;
  std::memcpy(&x.v, &words, sizeof(words));
  return x;
}
inline Halves rounded(Vec<float> x) {
#if defined(__AVX512BF16__) && defined(__AVX512DQ__)
  // The instruction turns denormal values to 0.
  if (_mm512_fpclass_ps_mask(x.v, 0x20) == 0) return std::bit_cast<Halves>(_mm512_cvtneps_pbh(x.v));
#endif
  Words words;
  std::memcpy(&words, &x.v, sizeof(words));
  const Words nearest = words + 0x7fff + ((words >> 16) & 1), quiet = words | 0x400000;
  words = (words & 0x7fffffff) > 0x7f800000 ? quiet : nearest;
  return __builtin_convertvector(words >> 16, Halves);
}
inline Halves load_halves(const BFloat16* p) {
  Halves halves;
  std::memcpy(&halves, p, sizeof(halves));
  return halves;
}
// The first n, then zeros.
inline Halves load_halves(const BFloat16* p, int64_t n) {
  Halves halves{};
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  const __m256i x = _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p);
  std::memcpy(&halves, &x, sizeof(halves));
#else
  std::memcpy(&halves, p, static_cast<size_t>(n) * sizeof(BFloat16));
#endif
  return halves;
}
}  // namespace detail

inline Vec<float> load(const BFloat16* p) { return detail::widened(detail::load_halves(p)); }
inline Vec<float> load(const BFloat16* p, int64_t n) { return detail::widened(detail::load_halves(p, n)); }
inline void store(BFloat16* p, Vec<float> x) {
  const detail::Halves halves = detail::rounded(x);
  std::memcpy(static_cast<void*>(p), &halves, sizeof(halves));
}
inline void store(BFloat16* p, Vec<float> x, int64_t n) {
  const detail::Halves halves = detail::rounded(x);
#if defined(__AVX512BW__) && defined(__AVX512VL__)
  __m256i bits;
  std::memcpy(&bits, &halves, sizeof(bits));
  _mm256_mask_storeu_epi16(p, static_cast<__mmask16>((1u << n) - 1), bits);
#else
  std::memcpy(static_cast<void*>(p), &halves, static_cast<size_t>(n) * sizeof(BFloat16));
#endif
}

// Two adjacent bf16. A Vec<float> holds such pairs as bits.
struct Pair {
  BFloat16 first, second;
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(second.bits) << 16 | first.bits);
  }
};
inline Vec<float> load(const Pair* p) {
  Vec<float> x;
  std::memcpy(&x.v, p, sizeof(x.v));
  return x;
}
inline Vec<float> load(const Pair* p, int64_t n) {
  Vec<float> x = 0.0f;
  std::memcpy(&x.v, p, static_cast<size_t>(n) * sizeof(Pair));
  return x;
}
// Pairs of the elements of two rows: all, or the first n and then zeros.
inline Vec<float> pairs_of(detail::Halves first, detail::Halves second) {
  const detail::Words words =
      __builtin_convertvector(first, detail::Words) | __builtin_convertvector(second, detail::Words) << 16;
  Vec<float> x;
  std::memcpy(&x.v, &words, sizeof(words));
  return x;
}
inline Vec<float> load_pairs(const BFloat16* first, const BFloat16* second) {
  return pairs_of(detail::load_halves(first), detail::load_halves(second));
}
inline Vec<float> load_pairs(const BFloat16* first, const BFloat16* second, int64_t n) {
  return pairs_of(detail::load_halves(first, n), detail::load_halves(second, n));
}

// Pairs of values that are exact in bf16.
inline Vec<float> pair_of(Vec<float> first, Vec<float> second) {
  const auto words = std::bit_cast<detail::Words>(first.v) >> 16 | std::bit_cast<detail::Words>(second.v);
  return {std::bit_cast<Vec<float>::Raw>(words)};
}

// True where one instruction multiplies pairs faster than floats are multiplied. It takes as long as one fused
// multiply-add on Zen 4 and 5, and as long as four on Emerald Rapids, where floats are twice as fast. AVX512_FP16 tells
// Intel's processors since Sapphire Rapids from those: they have AMX for bf16, which a virtual machine may hide.
#if defined(__AVX512BF16__) && !defined(__AVX512FP16__)
inline constexpr bool kHasDot = true;
#else
inline constexpr bool kHasDot = false;
#endif
// The first and the second of each pair, widened.
inline Vec<float> firsts(Vec<float> pairs) { return Vec<float>(pairs.bits() << 16); }
inline Vec<float> seconds(Vec<float> pairs) { return Vec<float>(pairs.bits() & static_cast<int32_t>(0xffff0000)); }
// c + a.first·b.first + a.second·b.second, each step a fused multiply-add in this order; the AVX-512 instruction adds
// the second product first and treats denormal values as 0.
inline Vec<float> dot(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512BF16__)
  if constexpr (kHasDot) return {_mm512_dpbf16_ps(c.v, std::bit_cast<__m512bh>(a.v), std::bit_cast<__m512bh>(b.v))};
#endif
  return fma(seconds(a), seconds(b), fma(firsts(a), firsts(b), c));
}

// y[i] = x[i] for i < n: a copy, or between bf16 and float.
template <class Y, class X>
inline void convert(Y* y, const X* x, int64_t n) {
  if constexpr (std::is_same_v<X, Y>) {
    std::copy_n(x, n, y);
  } else {
    static_assert(std::is_same_v<X, BFloat16> || std::is_same_v<Y, BFloat16>);
    constexpr int64_t size = Vec<float>::size;
    int64_t i = 0;
    for (; i + size <= n; i += size) store(y + i, load(x + i));
    if (i < n) store(y + i, load(x + i, n - i), n - i);
  }
}

}  // namespace pg::simd

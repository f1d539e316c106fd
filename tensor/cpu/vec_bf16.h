#pragma once
// bf16 in memory, f32 in registers: loads widen, stores round to nearest, ties to even (NaN stays NaN), as BFloat16
// does.
#include "tensor/cpu/vec.h"
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
  Words words;
  std::memcpy(&words, &x.v, sizeof(words));
  const Words nearest = words + 0x7fff + ((words >> 16) & 1), quiet = words | 0x400000;
  words = (words & 0x7fffffff) > 0x7f800000 ? quiet : nearest;
  return __builtin_convertvector(words >> 16, Halves);
}
}  // namespace detail

inline Vec<float> load(const BFloat16* p) {
  detail::Halves halves;
  std::memcpy(&halves, p, sizeof(halves));
  return detail::widened(halves);
}
inline Vec<float> load(const BFloat16* p, int64_t n) {
  detail::Halves halves{};
  std::memcpy(&halves, p, static_cast<size_t>(n) * sizeof(BFloat16));
  return detail::widened(halves);
}
inline void store(BFloat16* p, Vec<float> x) {
  const detail::Halves halves = detail::rounded(x);
  std::memcpy(static_cast<void*>(p), &halves, sizeof(halves));
}
inline void store(BFloat16* p, Vec<float> x, int64_t n) {
  const detail::Halves halves = detail::rounded(x);
  std::memcpy(static_cast<void*>(p), &halves, static_cast<size_t>(n) * sizeof(BFloat16));
}

// y[i] = x[i] for i < n.
template <class Y, class X>
requires(std::is_same_v<X, BFloat16> != std::is_same_v<Y, BFloat16>) inline void convert(Y* y, const X* x, int64_t n) {
  constexpr int64_t size = Vec<float>::size;
  int64_t i = 0;
  for (; i + size <= n; i += size) store(y + i, load(x + i));
  if (i < n) store(y + i, load(x + i, n - i), n - i);
}

}  // namespace pg::simd

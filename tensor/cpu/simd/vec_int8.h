#pragma once
// int8 in memory, f32 in registers.
#include "tensor/cpu/simd/vec.h"

namespace pg::simd {

inline Vec<float> load(const int8_t* p) {
#if defined(__AVX512F__)
  __m128i bytes;
  std::memcpy(&bytes, p, sizeof(bytes));
  return {_mm512_maskz_cvtepi32_ps(0xffff, _mm512_maskz_cvtepi8_epi32(0xffff, bytes))};  // masked: as in sqrt()
#elif defined(__AVX2__)
  __m128i bytes{};
  std::memcpy(&bytes, p, 8);
  return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes))};
#else
  typedef int8_t Bytes __attribute__((vector_size(Vec<float>::size)));
  typedef int32_t Integers __attribute__((vector_size(kVectorBytes)));
  Bytes bytes;
  std::memcpy(&bytes, p, sizeof(bytes));
  return {__builtin_convertvector(__builtin_convertvector(bytes, Integers), Vec<float>::Raw)};
#endif
}

}  // namespace pg::simd

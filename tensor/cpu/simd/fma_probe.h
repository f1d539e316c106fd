#pragma once
// The peak arithmetic rate of this processor: benchmarks and lesson 1 show speeds as a share of it.
#include "tensor/cpu/simd/vec_bf16.h"

namespace pg::cpu {

// Chains of fused multiply-adds that don't wait for each other: more than latency × units of any current core, and few
// enough to fit in AVX2's 16 registers together with the two constants.
inline constexpr int kFmaChains = 12;

// Applies step(x) `rounds` times to every chain, without loads or stores. The result depends on all chains; use it, or
// the compiler removes the loop.
template <class Step>
float chain_rounds(int64_t rounds, float seed, Step step) {
  using simd::Vec;
  Vec<float> x[kFmaChains];
  for (int c = 0; c < kFmaChains; ++c) x[c] = Vec<float>(seed + static_cast<float>(c));
  for (int64_t i = 0; i < rounds; ++i) {
    for (int c = 0; c < kFmaChains; ++c) x[c] = step(x[c]);
  }
  for (int c = 1; c < kFmaChains; ++c) x[0] += x[c];
  return x[0][0];
}

// Fused multiply-adds: 2·kFmaChains·lanes·rounds operations.
inline float fma_rounds(int64_t rounds, float seed) {
  const simd::Vec<float> factor(0.999f + seed), term(0.001f);
  return chain_rounds(rounds, seed, [=](simd::Vec<float> x) { return fma(x, factor, term); });
}
// Products of pairs of bf16 added to f32: twice as many operations.
inline float dot_rounds(int64_t rounds, float seed) {
  const simd::Vec<float> a(0.001f + seed), b(0.5f);
  return chain_rounds(rounds, seed, [=](simd::Vec<float> x) { return simd::dot(a, b, x); });
}
inline double fma_flops(int64_t rounds) {
  return 2.0 * kFmaChains * simd::Vec<float>::size * static_cast<double>(rounds);
}

}  // namespace pg::cpu

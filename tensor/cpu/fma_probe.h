#pragma once
// The most that this processor can compute: benchmarks and lesson 1 show speeds as a share of it.
#include "tensor/cpu/vec.h"

namespace pg::cpu {

// Chains of fused multiply-adds that don't wait for each other: more than latency × units of any current core, and few
// enough to stay in AVX2's 16 registers beside the two constants.
inline constexpr int kFmaChains = 12;

// `rounds` fused multiply-adds on each lane of every chain, nothing loaded or stored: 2·kFmaChains·lanes·rounds
// operations. The result depends on all of them; use it, or the compiler drops the loop.
inline float fma_rounds(int64_t rounds, float seed) {
  using simd::Vec;
  Vec<float> x[kFmaChains];
  for (int c = 0; c < kFmaChains; ++c) x[c] = Vec<float>(seed + static_cast<float>(c));
  const Vec<float> factor(0.999f + seed), term(0.001f);
  for (int64_t i = 0; i < rounds; ++i) {
    for (int c = 0; c < kFmaChains; ++c) x[c] = fma(x[c], factor, term);
  }
  for (int c = 1; c < kFmaChains; ++c) x[0] += x[c];
  return x[0][0];
}
inline double fma_flops(int64_t rounds) {
  return 2.0 * kFmaChains * simd::Vec<float>::size * static_cast<double>(rounds);
}

}  // namespace pg::cpu

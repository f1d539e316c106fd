#pragma once
// Philox4x32-10 of Salmon et al. 2011, with its published constants: multipliers and the key's steps (golden ratio,
// sqrt(3) - 1). The stream built on it is in tensor/base/random.h.
#include <cstdint>

namespace pg {

struct Philox {
  static constexpr uint32_t mul0 = 0xD2511F53, mul1 = 0xCD9E8D57;
  static constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  static constexpr int rounds = 10;
};

// One block: four words from a 64-bit key and a 128-bit counter. Usable on the host and in CUDA kernels.
constexpr void philox_block(uint64_t key, uint64_t counter_lo, uint64_t counter_hi, uint32_t (&word)[4]) {
  uint32_t c0 = static_cast<uint32_t>(counter_lo), c1 = static_cast<uint32_t>(counter_lo >> 32);
  uint32_t c2 = static_cast<uint32_t>(counter_hi), c3 = static_cast<uint32_t>(counter_hi >> 32);
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < Philox::rounds; ++round) {
    const uint64_t p0 = uint64_t{Philox::mul0} * c0, p1 = uint64_t{Philox::mul1} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(p1);
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p0);
    k0 += Philox::weyl0;
    k1 += Philox::weyl1;
  }
  word[0] = c0, word[1] = c1, word[2] = c2, word[3] = c3;
}

}  // namespace pg

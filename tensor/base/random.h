#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
// Word i of a stream is a pure function of (seed, i): any element can be computed alone, on any device, in any order.
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace pg {

// The published constants: multipliers and the key's steps (golden ratio, sqrt(3) - 1).
struct Philox {
  static constexpr uint32_t mul0 = 0xD2511F53, mul1 = 0xCD9E8D57;
  static constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  static constexpr int rounds = 10;
};

// One block: four 32-bit words from a 64-bit key and a 128-bit counter. Usable on the host and in CUDA kernels.
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

// The same block as a value.
std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi);

// A position in a stream, stored in a checkpoint as sixteen bytes. Each call advances it by the draws it consumed.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}

  uint32_t next_u32();               // uniform over all 32-bit words
  double uniform();                  // [0, 1), 32 bits of resolution
  double normal();                   // N(0, 1), Box-Muller; consumes two draws
  int64_t integer(int64_t n);        // uniform in [0, n), n >= 1; unbiased
  uint64_t reserve(uint64_t count);  // skips `count` draws and returns the position of the first

  uint64_t seed() const { return seed_; }
  uint64_t offset() const { return offset_; }
  void set_state(uint64_t seed, uint64_t offset);

 private:
  uint64_t seed_ = 0;
  uint64_t offset_ = 0;  // index of the next 32-bit word of the stream
};

// Word `index` of the stream `seed`.
uint32_t random_u32(uint64_t seed, uint64_t index);
// The word as a float in [0, 1), 24 bits.
inline float to_unit(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }

Generator& default_generator();  // thread-local; seed it with manual_seed
void manual_seed(uint64_t seed);

// Independent streams of one seed: stream i is keyed by a Philox block of (seed, i), so that neighbouring seeds and
// streams are unrelated.
inline Generator random_stream(uint64_t seed, uint64_t stream) {
  const auto words = philox4x32(seed, stream, 1);  // the plain stream of a seed has 0 as the last argument
  return Generator((uint64_t{words[0]} << 32) | words[1]);
}

// All orders equally likely (Fisher & Yates).
template <class T>
void shuffle(std::vector<T>& x, Generator& generator) {
  for (size_t i = x.size(); i-- > 1;) {
    std::swap(x[i], x[static_cast<size_t>(generator.integer(static_cast<int64_t>(i) + 1))]);
  }
}

}  // namespace pg

#pragma once
// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3").
// Word i of a stream is a pure function of (seed, i): any element can be computed alone, on any device, in any order.
#include <array>
#include <cstdint>

namespace pg {

// One Philox block: four 32-bit words from a 64-bit key and a 128-bit counter.
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

}  // namespace pg

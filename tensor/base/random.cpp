// Random numbers from Philox.
#include "tensor/base/random.h"

#include <cmath>
#include <numbers>

#include "tensor/base/error.h"

namespace pg {

namespace {
thread_local Generator default_generator_instance;
}  // namespace

std::array<uint32_t, 4> philox4x32(uint64_t key, uint64_t counter_lo, uint64_t counter_hi) {
  uint32_t word[4];
  philox_block(key, counter_lo, counter_hi, word);
  return std::to_array(word);
}

uint32_t random_u32(uint64_t seed, uint64_t index) { return philox4x32(seed, index / 4, 0)[index % 4]; }

uint32_t Generator::next_u32() { return random_u32(seed_, offset_++); }

double Generator::uniform() { return next_u32() * 0x1p-32; }

double Generator::normal() {
  const double u = (double{1} + next_u32()) * 0x1p-32;  // (0, 1], so that the logarithm is finite
  const double v = next_u32() * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

int64_t Generator::integer(int64_t n) {
  check(n >= 1, "Generator::integer: n must be at least 1, got {}", n);
  const auto range = static_cast<uint64_t>(n);
  const bool wide = range > (uint64_t{1} << 32);
  // Words below 2^bits mod n are drawn again: the remaining values contain every residue equally often.
  const uint64_t reject = wide ? (0 - range) % range : ((uint64_t{1} << 32) - range) % range;
  for (;;) {
    uint64_t word = next_u32();
    if (wide) word = (word << 32) | next_u32();
    if (word >= reject) return static_cast<int64_t>(word % range);
  }
}

uint64_t Generator::reserve(uint64_t count) {
  const uint64_t first = offset_;
  offset_ += count;
  return first;
}

void Generator::set_state(uint64_t seed, uint64_t offset) {
  seed_ = seed;
  offset_ = offset;
}

Generator& default_generator() { return default_generator_instance; }

void manual_seed(uint64_t seed) { default_generator().set_state(seed, 0); }

}  // namespace pg

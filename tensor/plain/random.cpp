// Random tensors and dropout: element i is a function of (seed, offset + i) alone (tensor/base/random.h).
#include "tensor/base/random.h"

#include <cmath>
#include <numbers>

#include "tensor/plain/access.h"

namespace pg::plain {
namespace {

// Word i after `offset` in the stream of a seed.
double word(uint64_t seed, uint64_t offset, int64_t i) { return random_u32(seed, offset + static_cast<uint64_t>(i)); }

}  // namespace

// [low, high): f32 takes the upper 24 bits of a word, f64 all 32. Rounding can reach `high`, which is excluded.
void random_uniform(const View& y, double low, double high, uint64_t seed, uint64_t offset) {
  const double last = low >= high      ? high
                      : y.dtype == f32 ? std::nextafter(static_cast<float>(high), static_cast<float>(low))
                                       : std::nextafter(high, low);
  for (int64_t i = 0; i < y.numel(); ++i) {
    const double w = word(seed, offset, i), unit = y.dtype == f32 ? std::floor(w / 256) * 0x1p-24 : w * 0x1p-32;
    const double value = low + (high - low) * unit;
    put(y, i, std::min(y.dtype == f32 ? static_cast<double>(static_cast<float>(value)) : value, last));
  }
}

// Box and Muller (1958): √(-2 ln u)·cos(2πv), u in (0, 1], v in [0, 1).
void random_normal(const View& y, double mean, double std, uint64_t seed, uint64_t offset) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    const double u = (1 + word(seed, offset, 2 * i)) * 0x1p-32, v = word(seed, offset, 2 * i + 1) * 0x1p-32;
    put(y, i, mean + std * std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
  }
}

// An element is dropped with probability p: if its word is below p·2^32.
void dropout(const View& y, const View& x, double p, uint64_t seed, uint64_t offset, double beta) {
  for (int64_t i = 0; i < y.numel(); ++i) {
    const bool dropped = word(seed, offset, i) < std::ceil(p * 0x1p32);
    add(y, i, dropped ? 0 : get(x, i) / (1 - p), beta);
  }
}

}  // namespace pg::plain

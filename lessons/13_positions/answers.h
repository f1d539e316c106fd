// Lesson 13: positions and caches. This is your file: replace each TODO(...),
// then: make lesson13 && ./lesson13 check
//
// B batch, H heads of queries, Hkv heads of keys and values, T positions, D
// channels of a head. Use operations, so that gradients pass: slice(x, dim,
// start, end), cat({a, b}, dim), reshape, unsqueeze(x, dim), expand(x, {-1,
// ..., 3}) (repeats a size of 1; -1 keeps a size), x * y, x * 0.5, cast(x,
// dtype) (x.to(dtype) cuts the tape). The engine's own function is pg::rope;
// it and pg::attention are yours to use in 13.2.
#include <cmath>
#include <vector>

#include "lessons/13_positions/lesson.h"

namespace pg::lesson13 {

// Rotary positions: x [B, H, T, D] → [B, H, T, D], of x's dtype. Channel i of a
// head, i < D/2, and channel i + D/2 are the two coordinates of a point. At
// position p the point is rotated by p·base^(-2i/D) radians, counterclockwise:
// (u, w) → (u·cos - w·sin, u·sin + w·cos). Position 0 of row b of x is
// positions[b], an i32 tensor [B]; undefined positions: 0 in every row.
// options.base is the base; the other options keep their defaults here. Compute
// angles in double, whatever x's dtype: at position 5000 a float angle is wrong
// in the fourth digit.
Tensor rope(const Tensor& x, const Rope& options, const Tensor& positions) {
  // [answer 13.1 rope]
  const int64_t rows = x.size(0), steps = x.size(2), half = x.size(3) / 2;
  std::vector<double> cosines, sines;
  for (int64_t b = 0; b < rows; ++b) {
    const int64_t first = positions.defined() ? positions.data<const int32_t>()[static_cast<size_t>(b)] : 0;
    for (int64_t t = 0; t < steps; ++t) {
      for (int64_t i = 0; i < half; ++i) {
        const double frequency = std::pow(options.base, -static_cast<double>(i) / static_cast<double>(half));
        const double angle = static_cast<double>(first + t) * frequency;
        cosines.push_back(std::cos(angle));
        sines.push_back(std::sin(angle));
      }
    }
  }
  const Shape shape = {rows, 1, steps, half};  // the same for all heads
  const Tensor c = Tensor::from(cosines, shape).to(x.dtype()), s = Tensor::from(sines, shape).to(x.dtype());
  const Tensor u = slice(x, 3, 0, half), w = slice(x, 3, half, 2 * half);
  return cat({u * c - w * s, u * s + w * c}, 3);
  // [end]
}

// Attention of T new positions with a cache: q [B, H, T, D], k and v [B, Hkv,
// T, D], not rotated yet. The first new position of row b is slot.before[b].
// Rotate (pg::rope), put the new keys and values into the cache (slot.store(k,
// v) copies both to where they belong), then attend to all keys of the cache
// that are in use: pg::attention(q, slot.k, slot.v, options) with
// options.kv_len = slot.after, an AttentionOptions → [B, H, T, D].
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& options) {
  // [answer 13.2 decode]
  slot.store(pg::rope(k, options, slot.before), v);
  AttentionOptions attend;
  attend.kv_len = slot.after;
  return pg::attention(pg::rope(q, options, slot.before), slot.k, slot.v, attend);
  // [end]
}

// One head of keys (or values) for each head of queries: x [B, Hkv, T, D] → [B,
// heads, T, D]. heads/Hkv consecutive heads of queries share one: with 2 for 6
// the result is 0 0 0 1 1 1. An Error (check(condition, "repeat_heads: ..."))
// unless Hkv divides heads.
Tensor repeat_heads(const Tensor& x, int64_t heads) {
  // [answer 13.3 repeat_heads]
  const int64_t shared = x.size(1);
  check(heads % shared == 0, "repeat_heads: {} heads of keys cannot be shared by {} heads of queries", shared, heads);
  const Tensor copies = expand(unsqueeze(x, 2), {-1, -1, heads / shared, -1, -1});
  return reshape(copies, {x.size(0), heads, x.size(2), x.size(3)});
  // [end]
}

}  // namespace pg::lesson13

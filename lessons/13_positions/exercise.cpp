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
  // Yours, in place of the next line.
  TODO("13.1 rope");
}

// Attention of T new positions with a cache: q [B, H, T, D], k and v [B, Hkv,
// T, D], not rotated yet. The first new position of row b is slot.before[b].
// Rotate (pg::rope), put the new keys and values into the cache (slot.store(k,
// v) copies both to where they belong), then attend to all keys of the cache
// that are in use: pg::attention(q, slot.k, slot.v, options) with
// options.kv_len = slot.after, an AttentionOptions → [B, H, T, D].
Tensor decode(const KvSlot& slot, const Tensor& q, const Tensor& k, const Tensor& v, const Rope& options) {
  // Yours, in place of the next line.
  TODO("13.2 decode");
}

// One head of keys (or values) for each head of queries: x [B, Hkv, T, D] → [B,
// heads, T, D]. heads/Hkv consecutive heads of queries share one: with 2 for 6
// the result is 0 0 0 1 1 1. An Error (check(condition, "repeat_heads: ..."))
// unless Hkv divides heads.
Tensor repeat_heads(const Tensor& x, int64_t heads) {
  // Yours, in place of the next line.
  TODO("13.3 repeat_heads");
}

}  // namespace pg::lesson13

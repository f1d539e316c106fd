// Lesson 13b: latent attention. This is your file: replace TODO(...), then:
// make lesson13b && ./lesson13b check
//
// B batch, H heads, T queries at the last of S positions. Use operations, so
// that gradients pass: matmul(a, b) (leading dims broadcast), transpose(x) (the
// last two dims), transpose(x, 1, 2), reshape, slice(x, dim, start, end),
// cat({a, b}, dim), pg::attention(q, k, v, options).
#include <cmath>

#include "lessons/13b_latent_attention/lesson.h"

namespace pg::lesson13b {

// Causal latent attention in the absorbed form (LatentInputs has the shapes).
// k_up [H·d_n, d_c] holds W_uk of head 0, then that of head 1, and so on; v_up
// [H·d_v, d_c] the W_uv. The plain form gives head h, at position s, the key
// [W_uk·latent[s] ; k_rope[s]], the value W_uv·latent[s], and divides scores by
// √(d_n + d_r). Compute the same without ever making those keys and values:
// they are H times larger than the latents. pg::attention takes one head of
// keys for all heads of queries, AttentionOptions::scale, and T queries for the
// last T of S keys. It wants keys and values of one width: pass the whole key
// as the value too, and keep the first d_c channels of the result. → [B, T,
// H·d_v], head after head.
Tensor absorbed_attention(const LatentInputs& in, const Tensor& k_up, const Tensor& v_up) {
  // Yours, in place of the next line.
  TODO("13.4 absorbed_attention");
}

}  // namespace pg::lesson13b

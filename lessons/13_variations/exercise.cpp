// Lesson 13: variations. This is your file: replace each TODO(...), then:
// make lesson13 && ./lesson13 check
//
// B batch, H heads of queries, Hkv heads of keys and values, T positions, D
// channels of a head. Use operations, so that gradients pass: matmul(a, b)
// (leading dims broadcast), transpose(x) (the last two dims), transpose(x, 1,
// 2), reshape, slice(x, dim, start, end), cat({a, b}, dim), unsqueeze(x, dim),
// expand(x, {-1, ..., 3}) (repeats a size of 1; -1 keeps a size), sum(x), x *
// y, x * 0.5, cast(x, dtype) (x.to(dtype) cuts the tape), Tensor::zeros(shape,
// dtype). The engine's own function of the same name is pg::rope,
// pg::mask_tokens and so on; pg::attention is yours to use.
#include <cmath>
#include <vector>

#include "lessons/13_variations/lesson.h"

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

// Gives a layer with weight W [out, in] one low-rank adapter for all its rows,
// so that layer(x) becomes x·(W + scale·B·A)ᵀ + bias. Make a LoraAdapter, set
// its begin = 0, end = out, scale = alpha/rank (rank and alpha are in the
// config), a and b, and push it back to layer.lora. A [rank, in] is uniform in
// ±1/√in (Tensor::uniform(shape, low, high, generator, dtype)), B [out, rank]
// is zero, both of W's dtype. From now on A and B require a gradient, W and the
// bias (it may be undefined) do not: x.set_requires_grad(true or false).
void add_lora(Linear& layer, const LoraConfig& config, Generator& generator) {
  // Yours, in place of the next line.
  TODO("13.5 add_lora");
}

// Adds the terms of layer.lora to the weight: scale·B·A of each adapter to the
// rows adapter.begin ... adapter.end - 1 (a layer may have one for its queries
// and one for its values). Then layer.lora_merged = true, so that layer(x) no
// longer adds the terms itself. Others hold the same memory: write into the
// weight (rows = weight.view_slice(0, begin, end); rows.copy_from(...)) instead
// of replacing it. An Error, and no change, if the layer has no adapter or is
// merged already.
void merge_lora(Linear& layer) {
  // Yours, in place of the next line.
  TODO("13.6 merge_lora");
}

// Masks tokens at random. ids i32 [B, L] → a MaskedTokens of three new tensors
// [B, L]; ids itself must not change. First u = generator.uniform(), in [0, 1),
// for the whole batch. Row b has the time t = 1 - frac(u + b/B), where frac(x)
// is x - std::floor(x). Then one generator.uniform() for each token, row after
// row: where it is below t, the token is masked. The result: .ids (i32) with
// mask_id where masked; .targets (i32) with the token where masked, else -100;
// .weights (f64) with 1/t in the whole row. Tensors of numbers:
// Tensor::from(std::vector<int32_t>, shape).
MaskedTokens mask_tokens(const Tensor& ids, int32_t mask_id, Generator& generator) {
  // Yours, in place of the next line.
  TODO("13.7 mask_tokens");
}

// The bound in nats per token, a scalar of the logits' dtype: the sum over
// masked positions of weight·(-log p(target)), divided by B·L, all positions.
// logits [B, L, V + 1]; the last one belongs to the mask, which is never
// predicted: p is a softmax over the first V. cross_entropy(logits [N, V],
// targets [N], options) with options.reduction = Reduction::none (a
// CrossEntropyOptions) gives -log p for each, and 0 where the target is -100.
Tensor denoising_loss(const Tensor& logits, const MaskedTokens& tokens) {
  // Yours, in place of the next line.
  TODO("13.8 denoising_loss");
}

}  // namespace pg::lesson13

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
  // [answer 13.4 absorbed_attention]
  const int64_t rows = in.q_nope.size(0), heads = in.q_nope.size(1), steps = in.q_nope.size(2);
  const int64_t d_n = in.q_nope.size(3), d_r = in.q_rope.size(3), d_c = in.latent.size(3), d_v = v_up.size(0) / heads;
  const Tensor q = matmul(in.q_nope, reshape(k_up, {heads, d_n, d_c}));  // row vectors: q·W is Wᵀq
  const Tensor key = cat({in.latent, in.k_rope}, 3);
  AttentionOptions options;
  options.scale = 1 / std::sqrt(static_cast<double>(d_n + d_r));
  const Tensor sums = slice(pg::attention(cat({q, in.q_rope}, 3), key, key, options), 3, 0, d_c);
  const Tensor values = matmul(sums, transpose(reshape(v_up, {heads, d_v, d_c})));  // [B, H, T, d_v]
  return reshape(transpose(values, 1, 2), {rows, steps, heads * d_v});
  // [end]
}

// Gives a layer with weight W [out, in] one low-rank adapter for all its rows,
// so that layer(x) becomes x·(W + scale·B·A)ᵀ + bias. Make a LoraAdapter, set
// its begin = 0, end = out, scale = alpha/rank (rank and alpha are in the
// config), a and b, and push it back to layer.lora. A [rank, in] is uniform in
// ±1/√in (Tensor::uniform(shape, low, high, generator, dtype)), B [out, rank]
// is zero, both of W's dtype. From now on A and B require a gradient, W and the
// bias (it may be undefined) do not: x.set_requires_grad(true or false).
void add_lora(Linear& layer, const LoraConfig& config, Generator& generator) {
  // [answer 13.5 add_lora]
  const int64_t out = layer.weight.size(0), in = layer.weight.size(1);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  layer.weight.set_requires_grad(false);
  if (layer.bias.defined()) layer.bias.set_requires_grad(false);
  LoraAdapter adapter;
  adapter.begin = 0;
  adapter.end = out;
  adapter.scale = config.alpha / static_cast<double>(config.rank);
  adapter.a = Tensor::uniform({config.rank, in}, -bound, bound, generator, layer.weight.dtype());
  adapter.b = Tensor::zeros({out, config.rank}, layer.weight.dtype());
  adapter.a.set_requires_grad();
  adapter.b.set_requires_grad();
  layer.lora.push_back(adapter);
  // [end]
}

// Adds the terms of layer.lora to the weight: scale·B·A of each adapter to the
// rows adapter.begin ... adapter.end - 1 (a layer may have one for its queries
// and one for its values). Then layer.lora_merged = true, so that layer(x) no
// longer adds the terms itself. Others hold the same memory: write into the
// weight (rows = weight.view_slice(0, begin, end); rows.copy_from(...)) instead
// of replacing it. An Error, and no change, if the layer has no adapter or is
// merged already.
void merge_lora(Linear& layer) {
  // [answer 13.6 merge_lora]
  check(!layer.lora.empty() && !layer.lora_merged, "merge_lora: the layer has no adapter, or it is merged already");
  NoGrad no_grad;
  for (const LoraAdapter& adapter : layer.lora) {
    const Tensor rows = layer.weight.detach().view_slice(0, adapter.begin, adapter.end);
    rows.copy_from(rows + matmul(adapter.b, adapter.a) * adapter.scale);
  }
  layer.lora_merged = true;
  // [end]
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
  // [answer 13.7 mask_tokens]
  const int64_t rows = ids.size(0), length = ids.size(1);
  const Tensor given = ids.contiguous_copy();
  const auto tokens = given.data<const int32_t>();
  std::vector<int32_t> seen, targets;
  std::vector<double> weights;
  const double u = generator.uniform();
  for (int64_t b = 0; b < rows; ++b) {
    const double x = u + static_cast<double>(b) / static_cast<double>(rows);
    const double t = 1 - (x - std::floor(x));  // in (0, 1]
    for (int64_t i = 0; i < length; ++i) {
      const int32_t token = tokens[static_cast<size_t>(b * length + i)];
      const bool masked = generator.uniform() < t;
      seen.push_back(masked ? mask_id : token);
      targets.push_back(masked ? token : -100);
      weights.push_back(1 / t);
    }
  }
  const Shape shape = {rows, length};
  return {Tensor::from(seen, shape), Tensor::from(targets, shape), Tensor::from(weights, shape)};
  // [end]
}

// The bound in nats per token, a scalar of the logits' dtype: the sum over
// masked positions of weight·(-log p(target)), divided by B·L, all positions.
// logits [B, L, V + 1]; the last one belongs to the mask, which is never
// predicted: p is a softmax over the first V. cross_entropy(logits [N, V],
// targets [N], options) with options.reduction = Reduction::none (a
// CrossEntropyOptions) gives -log p for each, and 0 where the target is -100.
Tensor denoising_loss(const Tensor& logits, const MaskedTokens& tokens) {
  // [answer 13.8 denoising_loss]
  const int64_t positions = tokens.ids.numel(), v = logits.size(2) - 1;
  CrossEntropyOptions options;
  options.reduction = Reduction::none;
  const Tensor rows = reshape(slice(logits, 2, 0, v), {positions, v});
  const Tensor nats = cross_entropy(rows, reshape(tokens.targets, {positions}), options);
  const Tensor weights = reshape(tokens.weights.to(logits.dtype()), {positions});
  return sum(nats * weights) / static_cast<double>(positions);
  // [end]
}

}  // namespace pg::lesson13

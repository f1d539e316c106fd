// Multi-head latent attention and the norms of its latents.
#include "nn/variants/latent_attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "nn/decode/kv_cache.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

// The norm "l2", weight·x / (‖x‖₂ + 1e-8), in f32 for bf16. The bound on the sum keeps the gradient of a latent of 0
// finite.
Tensor over_length(const Tensor& x, const Tensor& weight, const Tensor&, double) {
  const Tensor wide = cast(x, sum_type(x.dtype()));
  const Tensor length = sqrt(clamp(sum(wide * wide, {-1}, true), 1e-30, HUGE_VAL));
  return cast(wide / (length + 1e-8), x.dtype()) * weight;
}

LatentAttentionConfig complete(LatentAttentionConfig c) {
  if (c.v_head_size == 0) c.v_head_size = c.head_size;
  const auto sized = [](const char* name, int64_t value, int64_t least) {
    check(value >= least && value <= INT32_MAX, "LatentAttention: {} must be between {} and {}, got {}", name, least,
          INT32_MAX, value);
  };
  sized("heads", c.heads, 1);
  sized("kv_latent_size", c.kv_latent_size, 1);
  sized("q_latent_size", c.q_latent_size, 0);
  sized("head_size", c.head_size, 1);
  sized("v_head_size", c.v_head_size, 1);
  sized("rope_size", c.rope_size, 0);
  check(c.rope_size % 2 == 0, "LatentAttention: rotary positions need an even rope_size, got {}", c.rope_size);
  sized("the channels of all heads", c.heads * std::max(c.head_size + c.rope_size, c.v_head_size), 1);
  return c;
}

// The weights [H·D, K] of a layer as one matrix [D, K] for each head.
Tensor by_head(const Linear& layer, int64_t heads) {
  return reshape(layer.weight, {heads, layer.weight.size(0) / heads, layer.weight.size(1)});
}

// The inverse of split_heads().
Tensor join_heads(const Tensor& x) {
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Tensor concatenated(const Tensor& x, const Tensor& tail) { return tail.defined() ? cat({x, tail}, -1) : x; }

// x [..., D] with zeros up to [..., size].
Tensor padded(const Tensor& x, int64_t size) {
  if (x.size(-1) == size) return x;
  Shape rest = x.shape();
  rest[x.rank() - 1] = size - x.size(-1);
  return cat({x, Tensor::zeros(rest, x.dtype(), x.device())}, -1);
}

}  // namespace

const std::vector<LatentNormKind>& LatentNormKind::table() {
  using T = const Tensor&;
  static const std::vector<LatentNormKind> rows = {
      {"rms", true, false, [](T x, T weight, T, double eps) { return rms_norm(x, weight, eps); }},
      {"layer", true, true, [](T x, T weight, T bias, double eps) { return layer_norm(x, weight, bias, eps); }},
      {"l2", true, false, over_length},
      {"none", false, false, [](T x, T, T, double) { return x; }},
  };
  return rows;
}

LatentNorm::LatentNorm(const Choice<LatentNormKind>& kind, int64_t channels, bool with_bias, double eps, DType dtype)
    : kind(kind), eps(eps) {
  if (kind.has_weight) weight = Tensor::ones({channels}, dtype).set_requires_grad();
  if (kind.has_bias && with_bias) bias = Tensor::zeros({channels}, dtype).set_requires_grad();
}
void LatentNorm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

LatentAttention::LatentAttention(int64_t channels, const LatentAttentionConfig& given, const Init& init)
    : config(complete(given)),
      q_up(config.q_latent_size > 0 ? config.q_latent_size : channels,
           config.heads * (config.head_size + config.rope_size), false, init),
      kv_down(channels, config.kv_latent_size + config.rope_size, config.bias, init),
      kv_norm(config.norm, config.kv_latent_size, config.bias, config.norm_eps, init.dtype),
      k_up(config.kv_latent_size, config.heads * config.head_size, false, init),
      v_up(config.kv_latent_size, config.heads * config.v_head_size, false, init),
      c_proj(config.heads * config.v_head_size, channels, config.bias, init),
      drop(config.dropout) {
  if (config.q_latent_size == 0) return;
  q_down.emplace(channels, config.q_latent_size, config.bias, init);
  q_norm.emplace(config.norm, config.q_latent_size, config.bias, config.norm_eps, init.dtype);
}

LatentAttention::Inputs LatentAttention::inputs(const Tensor& x, const Tensor& positions) const {
  const int64_t d_n = config.head_size, d_c = config.kv_latent_size, d_r = config.rope_size;
  const Tensor q = split_heads(q_up(q_down ? (*q_norm)((*q_down)(x)) : x), config.heads);
  const Tensor kv = split_heads(kv_down(x), 1);
  Inputs in{slice(q, -1, 0, d_n), {}, kv_norm(slice(kv, -1, 0, d_c)), {}};
  if (d_r > 0) {
    in.q_rope = rope(slice(q, -1, d_n, d_n + d_r), config.rope, positions);
    in.k_rope = rope(slice(kv, -1, d_c, d_c + d_r), config.rope, positions);
  }
  return in;
}

Tensor LatentAttention::query(const Inputs& in) const {
  const Tensor& q = in.q_nope;
  const int64_t b = q.size(0), h = q.size(1), t = q.size(2);
  // One product per head, of all rows of the batch: [H, B·T, d_n] · [H, d_n, d_c].
  const Tensor rows = transpose(reshape(transpose(q, 1, 2), {b * t, h, config.head_size}), 0, 1);
  const Tensor absorbed = transpose(matmul(rows, by_head(k_up, h)), 0, 1);  // [B·T, H, d_c]
  return concatenated(transpose(reshape(absorbed, {b, t, h, config.kv_latent_size}), 1, 2), in.q_rope);
}

Tensor LatentAttention::key(const Inputs& in) const { return concatenated(in.latent, in.k_rope); }

AttentionOptions LatentAttention::options() const {
  AttentionOptions o;
  o.scale = 1 / std::sqrt(static_cast<double>(config.head_size + config.rope_size));
  o.causal = config.causal;
  return o;
}

Tensor LatentAttention::latents(const Tensor& y) const { return join_heads(slice(y, -1, 0, config.kv_latent_size)); }

Tensor LatentAttention::project(const Tensor& sums) const {
  const int64_t h = config.heads, d_c = config.kv_latent_size, d_v = config.v_head_size;
  const Tensor rows = transpose(reshape(sums, {-1, h, d_c}), 0, 1);                        // [H, R, d_c]
  const Tensor values = transpose(matmul(rows, transpose(by_head(v_up, h), 1, 2)), 0, 1);  // [R, H, d_v]
  Shape shape = sums.shape();
  shape[sums.rank() - 1] = h * d_v;
  return drop(c_proj(reshape(values, shape)));
}

Tensor LatentAttention::plain(const Inputs& in) const {
  const int64_t h = config.heads, d_k = config.head_size + config.rope_size, d = std::max(d_k, config.v_head_size);
  const Tensor latent = squeeze(in.latent, 1);
  Tensor k_rope = in.k_rope;
  if (k_rope.defined()) k_rope = expand(k_rope, {-1, h, -1, -1});
  // The kernel takes heads of one width; zeros add nothing to a score.
  const Tensor q = padded(concatenated(in.q_nope, in.q_rope), d);
  const Tensor k = padded(concatenated(split_heads(k_up(latent), h), k_rope), d);
  const Tensor v = padded(split_heads(v_up(latent), h), d);
  return join_heads(slice(attention(q, k, v, options()), -1, 0, config.v_head_size));
}

void LatentAttention::check_incremental() const {
  check(absorbed, "LatentAttention: the plain form computes whole sequences only, without a cache or packed rows");
  check(config.causal, "LatentAttention: a KV cache and packed rows need causal attention");
}

Tensor LatentAttention::operator()(const Tensor& x) const {
  const Inputs in = inputs(x, {});
  if (!absorbed) return drop(c_proj(plain(in)));
  const Tensor k = key(in);
  return project(latents(attention(query(in), k, k, options())));
}

Tensor LatentAttention::operator()(const Tensor& x, const KvSlot& slot) const {
  check_incremental();
  const Inputs in = inputs(x, slot.before);
  const Tensor k = key(in);
  return project(latents(slot.attention(query(in), k, k, options())));
}

Tensor LatentAttention::operator()(const Tensor& x, const PackedBatch& rows) const {
  check_incremental();
  // Norms, rotations and the products with W_uk are computed once for each of the N positions.
  const Inputs in = inputs(unsqueeze(x, 1), rows.positions);
  const auto on_grid = [&](const Tensor& h) {  // [N, H, 1, D] → [B, H, T, D]
    return split_heads(rows.on_grid(squeeze(join_heads(h), 1)), h.size(1));
  };
  const Tensor k = on_grid(key(in));
  return project(rows.from_grid(latents(attention(on_grid(query(in)), k, k, options()))));
}

void LatentAttention::visit(Visitor& visitor) {
  if (q_down) visitor("q_down", *q_down), visitor("q_norm", *q_norm);
  visitor("q_up", q_up);
  visitor("kv_down", kv_down);
  visitor("kv_norm", kv_norm);
  visitor("k_up", k_up);
  visitor("v_up", v_up);
  visitor("c_proj", c_proj);
  visitor("drop", drop);
}

LatentAttention& latent_attention_of(const TransformerBlock& block) {
  auto* latent = block.other_attn ? dynamic_cast<LatentAttention*>(&*block.other_attn) : nullptr;
  check(latent, "latent_attention_of: the block has no latent attention");
  return *latent;
}

}  // namespace pg

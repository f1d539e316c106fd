// The transformer with a cache of keys and values: new positions of known sequences, outside the tape.
#include <tuple>

#include "autograd/op_util.h"
#include "nn/decode/kv_cache.h"
#include "nn/transformer.h"

namespace pg {

std::pair<Tensor, Tensor> Norm::add_linear(const Tensor& x, const Tensor& residual, const Tensor& layer_weight,
                                           const Tensor& layer_bias, bool gelu) const {
  return add_norm_linear(x, residual, {kind == NormKind::rms, weight, bias, eps}, layer_weight, layer_bias, gelu);
}
Tensor CausalSelfAttention::operator()(const Tensor& x, const KvSlot& slot) const { return from_qkv(c_attn(x), slot); }

Tensor CausalSelfAttention::from_qkv(const Tensor& qkv, const KvSlot& slot) const {
  check(config.causal, "CausalSelfAttention: a KV cache needs causal attention");
  const auto [q, k, v] = split(qkv, slot.before);
  return project(slot.attention(q, k, v));
}

std::pair<Tensor, Tensor> TransformerBlock::unsummed(const Tensor& x, const Tensor& residual,
                                                     const KvSlot& slot) const {
  Tensor in, attended;
  if (attn && attn->c_attn.plain()) {
    const auto [x_sum, qkv] = ln_1.add_linear(x, residual, attn->c_attn.weight, attn->c_attn.bias);
    in = x_sum;
    attended = attn->from_qkv(qkv, slot);
  } else {
    const auto [x_sum, normed] = ln_1.add(x, residual);
    in = x_sum;
    attended = attend(normed, slot);
  }
  if (mlp.c_gate || !mlp.c_fc.plain()) {  // a gated MLP reads the norm twice
    const auto [sum, normed_sum] = ln_2.add(in, attended);
    return {mlp(normed_sum), sum};
  }
  const auto [sum, hidden] = ln_2.add_linear(in, attended, mlp.c_fc.weight, mlp.c_fc.bias, /*gelu=*/true);
  return {mlp.drop(mlp.c_proj(hidden)), sum};
}

namespace {

// Positions of the T new ids [B, T] of rows that already hold `before` [B] positions.
Tensor new_positions(const Tensor& before, int64_t t) {
  const auto starts = before.data<const int32_t>();
  Tensor positions = Tensor::empty({before.size(0), t}, i32);
  const auto to = positions.data<int32_t>();
  for (size_t row = 0; row < starts.size(); ++row) {
    for (int64_t i = 0; i < t; ++i) to[row * t + i] = starts[row] + static_cast<int32_t>(i);
  }
  return positions;
}

}  // namespace

Tensor Transformer::hidden_cached(const Tensor& ids, const KvCache& cache) const {
  check_causal(config, "Transformer with a KV cache");
  check(cache.rows() == ids.size(0) && cache.k.size() == h.size(),
        "Transformer: ids have {} rows and the model {} layers, the cache has {} and {}", ids.size(0), h.size(),
        cache.rows(), cache.k.size());
  check(cache.room() <= config.block_size, "Transformer: the cache has room for {} positions, block_size is {}",
        cache.room(), config.block_size);
  const auto [x, residual] =
      forward_cached(ids, new_positions(cache.lengths, ids.size(1)).to(device()), cache.slots(ids.size(1)));
  cache.advance(ids.size(1));
  return ln_f.add(x, residual).second;
}

Tensor Transformer::logits_next(const Tensor& ids, const std::vector<KvSlot>& slots) const {
  const int64_t rows = ids.size(0);
  const auto [x, residual] =
      forward_cached(ids.view_reshape({rows, 1}), slots[0].before.view_reshape({rows, 1}), slots);
  if (int8_head()) return int8_linear(ln_f.add(x, residual).second, *int8_head()).view_select(1, 0);
  return ln_f.add_linear(x, residual, head_weight()).second.view_select(1, 0);
}

std::pair<Tensor, Tensor> Transformer::forward_cached(const Tensor& ids, const Tensor& positions,
                                                      const std::vector<KvSlot>& slots) const {
  check(!grad_enabled(), "Transformer: a KV cache holds no tape; call it under NoGrad");
  Tensor x, residual;
  if (drop.training && drop.p > 0) {  // dropout needs the sum of the embeddings
    x = embed(ids, positions);
  } else {
    begin_part(0);
    x = wte(ids);
    if (wpe.weight.defined()) residual = wpe(positions);
  }
  for (size_t i = 0; i < h.size(); ++i) {
    begin_part(i + 1);
    std::tie(x, residual) = h[i].unsummed(x, residual, slots[i]);
  }
  begin_part(parts() - 1);
  return {x, residual};
}

KvCache Transformer::new_cache(int64_t rows, int64_t room) const {
  check_causal(config, "KvCache");
  const TransformerConfig& c = config;
  return {rows,
          c.n_layer,
          c.latent() ? 1 : c.kv_heads(),
          room == 0 ? c.block_size : room,
          c.latent() ? c.kv_latent_size + c.rope_size : c.head_width(),
          c.dtype,
          device(),
          /*values_are_keys=*/c.latent()};
}

}  // namespace pg

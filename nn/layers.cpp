// Linear, embedding, normalisation, attention and MLP as modules.
#include "nn/layers.h"

#include <cmath>

namespace pg {
namespace {

Tensor uniform_parameter(const Shape& shape, double bound, const Init& init) {
  Tensor value = init.generator ? Tensor::uniform(shape, -bound, bound, *init.generator, init.dtype)
                                : Tensor::zeros(shape, init.dtype);
  return value.set_requires_grad();
}

// View of [B, T, C] as [B, H, T, D].
Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, bool with_bias, const Init& init) {
  check(in >= 1 && out >= 1, "Linear: sizes must be at least 1, got {} and {}", in, out);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = uniform_parameter({out, in}, bound, init);
  if (with_bias) bias = uniform_parameter({out}, bound, init);
}
void Linear::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

Embedding::Embedding(int64_t count, int64_t channels, const Init& init)
    : weight(init.generator ? Tensor::normal({count, channels}, 0, 1, *init.generator, init.dtype)
                            : Tensor::zeros({count, channels}, init.dtype)) {
  weight.set_requires_grad();
}
void Embedding::visit(Visitor& visitor) { visitor("weight", weight); }

LayerNorm::LayerNorm(int64_t channels, bool with_bias, double eps, DType dtype)
    : weight(Tensor::ones({channels}, dtype).set_requires_grad()), eps(eps) {
  if (with_bias) bias = Tensor::zeros({channels}, dtype).set_requires_grad();
}
void LayerNorm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

RMSNorm::RMSNorm(int64_t channels, double eps, DType dtype)
    : weight(Tensor::ones({channels}, dtype).set_requires_grad()), eps(eps) {}
void RMSNorm::visit(Visitor& visitor) { visitor("weight", weight); }

MLP::MLP(int64_t channels, bool with_bias, double dropout, const Init& init)
    : c_fc(channels, 4 * channels, with_bias, init), c_proj(4 * channels, channels, with_bias, init), drop(dropout) {}
void MLP::visit(Visitor& visitor) {
  visitor("c_fc", c_fc);
  visitor("c_proj", c_proj);
  visitor("drop", drop);
}

CausalSelfAttention::CausalSelfAttention(int64_t channels, int heads, bool with_bias, double dropout, const Init& init)
    : c_attn(channels, 3 * channels, with_bias, init),
      c_proj(channels, channels, with_bias, init),
      drop(dropout),
      heads(heads) {
  check(heads >= 1 && channels % heads == 0, "CausalSelfAttention: {} channels cannot be split into {} heads", channels,
        heads);
}

Tensor CausalSelfAttention::operator()(const Tensor& x) const { return drop(c_proj(attention_qkv(c_attn(x), heads))); }

Tensor CausalSelfAttention::operator()(const Tensor& x, const KvSlot& slot) const {
  const int64_t c = x.size(-1);
  const Tensor qkv = c_attn(x);
  const auto part = [&](int64_t i) { return split_heads(slice(qkv, -1, i * c, (i + 1) * c), heads); };
  slot.store(part(1), part(2));
  AttentionOptions options;
  options.kv_len = slot.after;
  const Tensor y = attention(part(0), slot.k, slot.v, options);
  return drop(c_proj(reshape(transpose(y, 1, 2), x.shape())));
}

Tensor CausalSelfAttention::operator()(const Tensor& x, const PackedBatch& rows) const {
  const Tensor qkv = index_select(c_attn(x), 0, rows.from);
  const Tensor y = attention_qkv(reshape(qkv, {rows.rows, rows.columns, qkv.size(1)}), heads);
  return drop(c_proj(index_select(reshape(y, {-1, x.size(1)}), 0, rows.grid)));
}

void CausalSelfAttention::visit(Visitor& visitor) {
  visitor("c_attn", c_attn);
  visitor("c_proj", c_proj);
  visitor("drop", drop);
}

}  // namespace pg

// Linear, embedding, normalisation, attention and MLP as modules; orthogonal initialisation.
#include "nn/layers.h"

#include <algorithm>
#include <cmath>
#include <vector>

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

Tensor orthogonal(int64_t rows, int64_t columns, double gain, Generator& generator, DType dtype) {
  check(rows >= 1 && columns >= 1, "orthogonal: sizes must be at least 1, got {} and {}", rows, columns);
  const auto count = static_cast<size_t>(std::min(rows, columns)), size = static_cast<size_t>(std::max(rows, columns));
  std::vector<std::vector<double>> q(count, std::vector<double>(size));
  for (size_t i = 0; i < count; ++i) {
    for (double& x : q[i]) x = generator.normal();
    // Gram-Schmidt; the second pass removes the rounding error of the first.
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < i; ++j) {
        double dot = 0;
        for (size_t k = 0; k < size; ++k) dot += q[i][k] * q[j][k];
        for (size_t k = 0; k < size; ++k) q[i][k] -= dot * q[j][k];
      }
    }
    double squares = 0;
    for (double x : q[i]) squares += x * x;
    for (double& x : q[i]) x /= std::sqrt(squares);
  }
  std::vector<double> values;
  for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
    for (size_t c = 0; c < static_cast<size_t>(columns); ++c)
      values.push_back(gain * (rows <= columns ? q[r][c] : q[c][r]));
  }
  return Tensor::from(values, {rows, columns}).to(dtype);
}

}  // namespace pg

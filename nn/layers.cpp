// Linear, embedding, normalisation, attention and MLP as modules; orthogonal initialisation.
#include "nn/layers.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/transformer_config.h"

namespace pg {
namespace {

Tensor uniform_parameter(const Shape& shape, double bound, const Init& init) {
  Tensor value = init.generator ? Tensor::uniform(shape, -bound, bound, *init.generator, init.dtype)
                                : Tensor::zeros(shape, init.dtype);
  return value.set_requires_grad();
}

}  // namespace

Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Linear::Linear(int64_t in, int64_t out, bool with_bias, const Init& init) {
  check(in >= 1 && out >= 1, "Linear: sizes must be at least 1, got {} and {}", in, out);
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = uniform_parameter({out, in}, bound, init);
  if (with_bias) bias = uniform_parameter({out}, bound, init);
}
void Linear::check_saved(const char* owner) const {
  check(!int8, "{}: a model with 8-bit weights (nn/variants/int8.h) is for decoding and is not saved", owner);
}
void Linear::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
  for (LoraAdapter& adapter : lora) {
    visitor(adapter.prefix + "lora_A", adapter.a);
    visitor(adapter.prefix + "lora_B", adapter.b);
  }
}

// The terms of all adapters are one tensor [..., out], with zeros for the rows that have none, which is added once. All
// of it is computed in the dtype of the adapters.
Tensor Linear::adapted(const Tensor& x) const {
  const Tensor y = product(x);
  const DType dtype = lora[0].a.dtype();
  const Tensor in = cast(x, dtype);
  std::vector<Tensor> terms;
  int64_t row = 0;
  const auto fill_to = [&](int64_t end) {
    if (end == row) return;
    Shape shape = y.shape();
    shape[y.rank() - 1] = end - row;
    terms.push_back(Tensor::zeros(shape, dtype, y.device()));
  };
  for (const LoraAdapter& adapter : lora) {
    fill_to(adapter.begin);
    const Tensor low = linear(dropout(in, adapter.dropout, *this), adapter.a);
    terms.push_back(linear(low * adapter.scale, adapter.b));
    row = adapter.end;
  }
  fill_to(y.size(-1));
  return cast(cast(y, dtype) + (terms.size() == 1 ? terms[0] : cat(terms, -1)), y.dtype());
}

Tensor dropout(const Tensor& x, double p, const Module& module) {
  if (!module.training || p == 0) return x;
  check(module.dropout_stream != nullptr,
        "dropout: a module in train mode needs a stream of random numbers; call set_dropout_stream() of the model");
  return dropout(x, p, true, *module.dropout_stream);
}

Embedding::Embedding(int64_t count, int64_t channels, const Init& init)
    : weight(init.generator ? Tensor::normal({count, channels}, 0, 1, *init.generator, init.dtype)
                            : Tensor::zeros({count, channels}, init.dtype)) {
  weight.set_requires_grad();
}
void Embedding::visit(Visitor& visitor) { visitor("weight", weight); }

Norm::Norm(NormKind kind, int64_t channels, bool with_bias, double eps, DType dtype)
    : kind(kind), weight(Tensor::ones({channels}, dtype).set_requires_grad()), eps(eps) {
  if (kind == NormKind::layer && with_bias) bias = Tensor::zeros({channels}, dtype).set_requires_grad();
}
LayerNorm::LayerNorm(int64_t channels, bool with_bias, double eps, DType dtype)
    : Norm(NormKind::layer, channels, with_bias, eps, dtype) {}
RMSNorm::RMSNorm(int64_t channels, double eps, DType dtype) : Norm(NormKind::rms, channels, false, eps, dtype) {}
Tensor Norm::operator()(const Tensor& x) const {
  return kind == NormKind::rms ? rms_norm(x, weight, eps) : layer_norm(x, weight, bias, eps);
}
std::pair<Tensor, Tensor> Norm::add(const Tensor& x, const Tensor& residual) const {
  if (!residual.defined()) return {x, (*this)(x)};
  return kind == NormKind::rms ? add_rms_norm(x, residual, weight, eps)
                               : add_layer_norm(x, residual, weight, bias, eps);
}
void Norm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

MLP::MLP(int64_t channels, bool with_bias, double dropout, const Init& init, int64_t hidden, bool gated)
    : c_fc(channels, hidden > 0 ? hidden : 4 * channels, with_bias, init),
      c_proj(hidden > 0 ? hidden : 4 * channels, channels, with_bias, init),
      drop(dropout) {
  if (gated) c_gate.emplace(channels, c_fc.weight.size(0), with_bias, init);
}
Tensor MLP::operator()(const Tensor& x) const {
  if (c_gate) return drop(c_proj(swiglu((*c_gate)(x), c_fc(x))));
  // Adapters add a term before gelu or after c_proj. In bf16, gelu(c_fc(x)) rounds once more than linear_gelu.
  if (!c_fc.plain()) return drop(c_proj(gelu(c_fc(x))));
  if (!c_proj.plain()) return drop(c_proj(linear_gelu(x, c_fc.weight, c_fc.bias)));
  return drop(mlp_gelu(x, c_fc.weight, c_fc.bias, c_proj.weight, c_proj.bias));
}
void MLP::visit(Visitor& visitor) {
  if (c_gate) visitor("c_gate", *c_gate);
  visitor("c_fc", c_fc);
  visitor("c_proj", c_proj);
  visitor("drop", drop);
}

namespace {

const TransformerConfig& checked(const TransformerConfig& c) {
  check_config(c, "CausalSelfAttention");
  return c;
}

}  // namespace

CausalSelfAttention::CausalSelfAttention(const TransformerConfig& c, const Init& init)
    : config(checked(c)),
      c_attn(c.n_embd, (c.n_head + 2 * c.kv_heads()) * c.head_width(), c.bias || c.qkv_bias, init),
      c_proj(c.n_head * c.head_width(), c.n_embd, c.bias, init),
      drop(c.dropout) {
  if (c.qk_norm) {
    q_norm.emplace(c.head_width(), c.norm_eps, init.dtype);
    k_norm.emplace(c.head_width(), c.norm_eps, init.dtype);
  }
}

bool CausalSelfAttention::plain() const {
  return config.kv_heads() == config.n_head && config.positions != Positions::rope && !q_norm;
}

CausalSelfAttention::Heads CausalSelfAttention::split(const Tensor& qkv, const Tensor& positions) const {
  const int64_t d = config.head_width();
  int64_t begin = 0;
  const auto part = [&](int64_t heads) {
    const int64_t end = begin + heads * d;
    const Tensor x = split_heads(slice(qkv, -1, begin, end), heads);
    begin = end;
    return x;
  };
  Heads h;
  h.q = part(config.n_head);
  h.k = part(config.kv_heads());
  h.v = part(config.kv_heads());
  if (q_norm) h.q = (*q_norm)(h.q), h.k = (*k_norm)(h.k);
  if (config.positions == Positions::rope)
    h.q = rope(h.q, config.rope, positions), h.k = rope(h.k, config.rope, positions);
  return h;
}

Tensor CausalSelfAttention::project(const Tensor& y) const {
  return drop(c_proj(reshape(transpose(y, 1, 2), {y.size(0), y.size(2), y.size(1) * y.size(3)})));
}

Tensor CausalSelfAttention::operator()(const Tensor& x) const {
  if (plain()) return drop(c_proj(attention_qkv(c_attn(x), static_cast<int>(config.n_head), config.causal)));
  const auto [q, k, v] = split(c_attn(x), {});
  AttentionOptions options;
  options.causal = config.causal;
  return project(attention(q, k, v, options));
}

void CausalSelfAttention::visit(Visitor& visitor) {
  visitor("c_attn", c_attn);
  if (q_norm) visitor("q_norm", *q_norm), visitor("k_norm", *k_norm);
  visitor("c_proj", c_proj);
  visitor("drop", drop);
}

}  // namespace pg

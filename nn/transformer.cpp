// The transformer: blocks, initialisation, hidden states, the loss.
#include "nn/transformer.h"

#include <cmath>

#include "autograd/op_util.h"

namespace pg {
namespace {

const TransformerConfig& checked(const TransformerConfig& c) {
  check_config(c, "Transformer");
  return c;
}

Norm norm_of(const TransformerConfig& c) { return Norm(c.norm, c.n_embd, c.bias, c.norm_eps, c.dtype); }

}  // namespace

TransformerBlock::TransformerBlock(const TransformerConfig& c)
    : ln_1(norm_of(c)),
      other_attn(attention_variant(c)),
      ln_2(norm_of(c)),
      mlp(c.n_embd, c.bias, c.dropout, Init::zeros(c.dtype), c.hidden_width(), c.mlp == MlpKind::swiglu) {
  if (!other_attn) attn.emplace(c, Init::zeros(c.dtype));
}

void TransformerBlock::visit(Visitor& visitor) {
  visitor("ln_1", ln_1);
  if (attn) visitor("attn", *attn);
  if (other_attn) visitor("attn", *other_attn);
  visitor("ln_2", ln_2);
  visitor("mlp", mlp);
}

Transformer::Transformer(const TransformerConfig& c, Generator& generator) : Transformer(c, &generator) {}

Transformer::Transformer(const TransformerConfig& c, Generator* generator)
    : config(checked(c)),
      wte(c.vocab_size, c.n_embd, Init::zeros(c.dtype)),
      wpe(c.positions == Positions::learned ? c.block_size : 0, c.n_embd, Init::zeros(c.dtype)),
      drop(c.dropout),
      ln_f(norm_of(c)) {
  if (c.positions != Positions::learned) wpe.weight = Tensor();
  for (int64_t i = 0; i < c.n_layer; ++i) h.emplace_back(c);
  if (!c.tied) lm_head.emplace(c.n_embd, c.vocab_size, /*with_bias=*/false, Init::zeros(c.dtype));
  if (generator) {
    const double writer_std = 0.02 / std::sqrt(2.0 * static_cast<double>(c.n_layer));
    for (const auto& [name, parameter] : named_parameters(*this)) {
      if (parameter.rank() != 2) continue;
      const double std = name.ends_with("c_proj.weight") ? writer_std : name.starts_with("h.") ? c.in_proj_std : 0.02;
      parameter.detach().copy_from(Tensor::normal(parameter.shape(), 0, std, *generator, c.dtype));
    }
  }
  if (c.lora.rank != 0) attach_adapters(*this, generator);
}

Tensor Transformer::embed(const Tensor& ids, const Tensor& positions) const {
  begin_part(0);
  return drop(wpe.weight.defined() ? wte(ids) + wpe(positions) : wte(ids));
}

Tensor Transformer::hidden(const Tensor& given, const KvCache* cache) const {
  check(given.rank() == 2 && given.dtype() == i32, "Transformer: expected ids i32 [B, T], got {} {}", given.dtype(),
        given.shape());
  if (given.device() != device())
    detail::check_ids(given, config.vocab_size, "Transformer");  // on a GPU the operations do not check ids
  const Tensor ids = given.to(device());
  const int64_t t = ids.size(1);
  check(t <= config.block_size, "Transformer: {} positions, block_size is {}", t, config.block_size);
  return cache ? hidden_cached(ids, *cache) : hidden_of(embed(ids, positions(t)));
}

Tensor Transformer::positions(int64_t t) const {
  if (!positions_.defined() || positions_.device() != device()) {
    positions_ = Tensor::arange(config.block_size, i32, device());
  }
  return positions_.view_slice(0, 0, t);
}

Tensor Transformer::loss(const Tensor& ids, const Tensor& targets) const {
  return cross_entropy((*this)(ids), targets.to(device()));
}

void Transformer::visit(Visitor& visitor) {
  visitor("wte", wte);
  visitor("wpe", wpe);
  visitor("drop", drop);
  for (size_t i = 0; i < h.size(); ++i) visitor("h." + std::to_string(i), h[i]);
  visitor("ln_f", ln_f);
  if (lm_head) visitor("lm_head", *lm_head);
}

}  // namespace pg

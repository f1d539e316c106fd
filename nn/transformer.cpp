// The transformer: blocks, initialisation, hidden states, logits, configuration.
#include "nn/transformer.h"

#include <cmath>

#include "autograd/op_util.h"
#include "nn/config_json.h"

namespace pg {
namespace {

// The fields of latent attention, and those that have no meaning with it.
void check_latent(const TransformerConfig& c) {
  const struct {
    const char* name;
    int64_t value;
  } sizes[] = {{"kv_latent_size", c.kv_latent_size},
               {"q_latent_size", c.q_latent_size},
               {"rope_size", c.rope_size},
               {"v_head_size", c.v_head_size}};
  for (const auto& size : sizes) {
    check(size.value >= 0 && size.value <= INT32_MAX, "Transformer: {} must be between 0 and {}, got {}", size.name,
          INT32_MAX, size.value);
    check(c.latent() || size.value == 0,
          "Transformer: {} is {}, but attention has no latent; set kv_latent_size or leave it out", size.name,
          size.value);
  }
  check(c.latent() || c.latent_norm.is("rms"),
        "Transformer: latent_norm is {}, but attention has no latent; set kv_latent_size or leave it out",
        c.latent_norm.name);
  if (!c.latent()) return;
  check(c.n_kv_head == 0,
        "Transformer: n_kv_head is {}, but with kv_latent_size all heads share one latent; leave it out", c.n_kv_head);
  check(!c.qk_norm,
        "Transformer: qk_norm does not apply with kv_latent_size; latent_norm names the norm of the latents");
  check(!c.qkv_bias, "Transformer: qkv_bias does not apply with kv_latent_size; bias adds biases to the latents");
  if (c.positions == Positions::rope) {
    check(c.rope_size >= 2 && c.rope_size % 2 == 0,
          "Transformer: rotary positions with kv_latent_size need an even rope_size of at least 2, got {}",
          c.rope_size);
  } else {
    check(c.rope_size == 0, "Transformer: rope_size is {}, but positions are learned; set positions to rope",
          c.rope_size);
  }
}

const TransformerConfig& checked(const TransformerConfig& c) {
  const auto positive = [](const char* name, int64_t value) {
    check(value >= 1 && value <= INT32_MAX, "Transformer: {} must be between 1 and {}, got {}", name, INT32_MAX, value);
  };
  positive("vocab_size", c.vocab_size);
  positive("block_size", c.block_size);
  positive("n_layer", c.n_layer);
  positive("n_head", c.n_head);
  positive("n_embd", c.n_embd);
  positive("n_kv_head", c.kv_heads());
  check(c.head_size != 0 || c.n_embd % c.n_head == 0, "Transformer: n_embd {} is not a multiple of n_head {}", c.n_embd,
        c.n_head);
  positive("head_size", c.head_width());
  positive("n_hidden", c.hidden_width());
  check(c.n_head % c.kv_heads() == 0, "Transformer: n_head {} is not a multiple of n_kv_head {}", c.n_head,
        c.kv_heads());
  check_latent(c);
  check(c.norm_eps >= 0 && c.norm_eps < HUGE_VAL, "Transformer: norm_eps must be at least 0, got {}", c.norm_eps);
  check(c.in_proj_std > 0 && c.in_proj_std < HUGE_VAL, "Transformer: in_proj_std must be positive, got {}",
        c.in_proj_std);
  check(c.dropout >= 0 && c.dropout < 1, "Transformer: dropout must be in [0, 1), got {}", c.dropout);
  LoraConfig lora = c.lora;
  check_fields("Transformer", fields(lora));
  check(is_floating(c.dtype), "Transformer: dtype must be f32, f64 or bf16, got {}", c.dtype);
  return c;
}

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

Norm::Norm(const TransformerConfig& c)
    : kind(c.norm), weight(Tensor::ones({c.n_embd}, c.dtype).set_requires_grad()), eps(c.norm_eps) {
  if (kind == NormKind::layer && c.bias) bias = Tensor::zeros({c.n_embd}, c.dtype).set_requires_grad();
}
Tensor Norm::operator()(const Tensor& x) const {
  return kind == NormKind::rms ? rms_norm(x, weight, eps) : layer_norm(x, weight, bias, eps);
}
std::pair<Tensor, Tensor> Norm::add(const Tensor& x, const Tensor& residual) const {
  return kind == NormKind::rms ? add_rms_norm(x, residual, weight, eps)
                               : add_layer_norm(x, residual, weight, bias, eps);
}
void Norm::visit(Visitor& visitor) {
  visitor("weight", weight);
  visitor("bias", bias);
}

TransformerBlock::TransformerBlock(const TransformerConfig& c)
    : ln_1(c),
      ln_2(c),
      mlp(c.n_embd, c.bias, c.dropout, Init::zeros(c.dtype), c.hidden_width(), c.mlp == MlpKind::swiglu) {
  if (c.latent()) {
    const LatentAttentionConfig latent{.heads = c.n_head,
                                       .kv_latent_size = c.kv_latent_size,
                                       .q_latent_size = c.q_latent_size,
                                       .head_size = c.head_width(),
                                       .v_head_size = c.v_head_width(),
                                       .rope_size = c.rope_size,
                                       .rope = c.rope,
                                       .norm = c.latent_norm,
                                       .norm_eps = c.norm_eps,
                                       .bias = c.bias,
                                       .dropout = c.dropout,
                                       .causal = c.causal};
    latent_attn.emplace(c.n_embd, latent, Init::zeros(c.dtype));
    return;
  }
  const AttentionConfig heads{.heads = c.n_head,
                              .kv_heads = c.kv_heads(),
                              .head_size = c.head_width(),
                              .qkv_bias = c.bias || c.qkv_bias,
                              .bias = c.bias,
                              .qk_norm = c.qk_norm,
                              .norm_eps = c.norm_eps,
                              .rope = c.positions == Positions::rope ? std::optional(c.rope) : std::nullopt,
                              .dropout = c.dropout,
                              .causal = c.causal};
  attn.emplace(c.n_embd, heads, Init::zeros(c.dtype));
}

Tensor TransformerBlock::operator()(const Tensor& x, const KvSlot* slot) const {
  const Tensor normed = ln_1(x);
  const auto [sum, normed_sum] = ln_2.add(x, slot ? attend(normed, *slot) : attend(normed));
  return sum + mlp(normed_sum);
}

Tensor TransformerBlock::operator()(const Tensor& x, const PackedBatch& rows) const {
  const auto [sum, normed_sum] = ln_2.add(x, attend(ln_1(x), rows));
  return sum + mlp(normed_sum);
}

void TransformerBlock::visit(Visitor& visitor) {
  visitor("ln_1", ln_1);
  if (attn) visitor("attn", *attn);
  if (latent_attn) visitor("attn", *latent_attn);
  visitor("ln_2", ln_2);
  visitor("mlp", mlp);
}

Transformer::Transformer(const TransformerConfig& c, Generator& generator) : Transformer(c, &generator) {}

Transformer::Transformer(const TransformerConfig& c, Generator* generator)
    : config(checked(c)),
      wte(c.vocab_size, c.n_embd, Init::zeros(c.dtype)),
      wpe(c.positions == Positions::learned ? c.block_size : 0, c.n_embd, Init::zeros(c.dtype)),
      drop(c.dropout),
      ln_f(c) {
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
  if (c.lora.rank > 0) detail::attach_lora(*this, generator);
}

Tensor Transformer::embed(const Tensor& ids, const Tensor& positions) const {
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
  if (!cache) {
    Tensor x = embed(ids, positions(t));
    for (const TransformerBlock& block : h) {
      x = checkpoint_blocks ? checkpoint([&block](const Tensor& in) { return block(in); }, x) : block(x);
    }
    return ln_f(x);
  }
  check_causal(config, "Transformer with a KV cache");
  check(cache->rows() == ids.size(0) && cache->k.size() == h.size(),
        "Transformer: ids have {} rows and the model {} layers, the cache has {} and {}", ids.size(0), h.size(),
        cache->rows(), cache->k.size());
  check(cache->room() <= config.block_size, "Transformer: the cache has room for {} positions, block_size is {}",
        cache->room(), config.block_size);
  const Tensor x = forward_cached(ids, new_positions(cache->lengths, t).to(device()), cache->slots(t));
  cache->advance(t);
  return x;
}

Tensor Transformer::hidden(const PackedBatch& given) const {
  check_causal(config, "Transformer with packed rows");  // a shared prefix depends on what follows it
  if (given.ids.device() != device()) detail::check_ids(given.ids, config.vocab_size, "Transformer");
  check(given.columns <= config.block_size, "Transformer: {} positions, block_size is {}", given.columns,
        config.block_size);
  const PackedBatch rows{given.rows,
                         given.columns,
                         given.ids.to(device()),
                         given.positions.to(device()),
                         given.grid.to(device()),
                         given.from.to(device())};
  Tensor x = embed(rows.ids, rows.positions);
  for (const TransformerBlock& block : h) {
    x = checkpoint_blocks ? checkpoint([&block, rows](const Tensor& in) { return block(in, rows); }, x)
                          : block(x, rows);
  }
  return reshape(index_select(ln_f(x), 0, rows.from), {rows.rows, rows.columns, config.n_embd});
}

Tensor Transformer::hidden_next(const Tensor& ids, const std::vector<KvSlot>& slots) const {
  const int64_t rows = ids.size(0);
  const Tensor x = forward_cached(ids.view_reshape({rows, 1}), slots[0].before.view_reshape({rows, 1}), slots);
  return x.view_reshape({rows, config.n_embd});
}

Tensor Transformer::positions(int64_t t) const {
  if (!positions_.defined() || positions_.device() != device()) {
    positions_ = Tensor::arange(config.block_size, i32, device());
  }
  return positions_.view_slice(0, 0, t);
}

Tensor Transformer::forward_cached(const Tensor& ids, const Tensor& positions, const std::vector<KvSlot>& slots) const {
  check(!grad_enabled(), "Transformer: a KV cache holds no tape; call it under NoGrad");
  Tensor x = embed(ids, positions);
  for (size_t i = 0; i < h.size(); ++i) x = h[i](x, &slots[i]);
  return ln_f(x);
}

Tensor Transformer::loss(const Tensor& ids, const Tensor& targets) const {
  return cross_entropy((*this)(ids), targets.to(device()));
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

void Transformer::visit(Visitor& visitor) {
  visitor("wte", wte);
  visitor("wpe", wpe);
  visitor("drop", drop);
  for (size_t i = 0; i < h.size(); ++i) visitor("h." + std::to_string(i), h[i]);
  visitor("ln_f", ln_f);
  if (lm_head) visitor("lm_head", *lm_head);
}

namespace {

std::vector<Field> gpt2_fields(TransformerConfig& c) {
  const Range size = whole_from(0, INT32_MAX);
  return {{"vocab-size", &c.vocab_size, "tokens of the vocabulary", size},
          {"block-size", &c.block_size, "tokens of the longest sequence", size},
          {"n-layer", &c.n_layer, "transformer blocks", size},
          {"n-head", &c.n_head, "attention heads", size},
          {"n-embd", &c.n_embd, "channels, a multiple of the heads", size},
          {"dropout", &c.dropout, "probability of setting an activation to zero", kShare},
          {"bias", &c.bias, "linear layers and layer norms have biases"},
          {"in-proj-std", &c.in_proj_std, "standard deviation of the initial weights of c_attn and c_fc", kNotNegative},
          {"dtype", named_field<DType>(c.dtype, {{"f32", f32}, {"f64", f64}, {"bf16", bf16}}),
           "type of weights and activations"}};
}

}  // namespace

std::vector<Field> family_fields(TransformerConfig& c) {
  const Range size = whole_from(0, INT32_MAX);
  return {
      {"n-kv-head", &c.n_kv_head, "heads of keys and values; 0: as many as heads", size},
      {"head-size", &c.head_size, "channels of a head; 0: the width divided by the heads", size},
      {"n-hidden", &c.n_hidden, "hidden width of the MLP; 0: 4 times the width", size},
      {"norm", named_field<NormKind>(c.norm, {{"layer", NormKind::layer}, {"rms", NormKind::rms}}), "the norms"},
      {"norm-eps", &c.norm_eps, "added to the variance or mean square of a norm", kNotNegative},
      {"positions", named_field<Positions>(c.positions, {{"learned", Positions::learned}, {"rope", Positions::rope}}),
       "learned or rotary positions"},
      {"rope-base", &c.rope.base, "base of the rotary frequencies", kPositive},
      {"rope-factor", &c.rope.factor, "stretches long waves of the rotary frequencies", kPositive},
      {"rope-low-freq-factor", &c.rope.low_freq_factor, "waves per original length that are stretched", kPositive},
      {"rope-high-freq-factor", &c.rope.high_freq_factor, "waves per original length that are kept", kPositive},
      {"rope-original-length", &c.rope.original_length, "positions of the first training", kPositive},
      {"mlp", named_field<MlpKind>(c.mlp, {{"gelu", MlpKind::gelu}, {"swiglu", MlpKind::swiglu}}),
       "the MLP's activation"},
      {"qkv-bias", &c.qkv_bias, "queries, keys and values have biases without --bias"},
      {"qk-norm", &c.qk_norm, "queries and keys pass an RMS norm"},
      {"tied", &c.tied, "the output head is the token embedding's weight"},
      {"kv-latent-size", &c.kv_latent_size, "channels of the latent of keys and values, 0 for ordinary attention",
       size},
      {"q-latent-size", &c.q_latent_size, "channels of the latent of queries, 0 for none; with kv-latent-size", size},
      {"rope-size", &c.rope_size, "rotated channels of a head; with kv-latent-size and rotary positions", size},
      {"v-head-size", &c.v_head_size, "channels of a head's values, 0 for head-size; with kv-latent-size", size},
      {"latent-norm", row_field(c.latent_norm), "the norm of the latents; with kv-latent-size"}};
}

std::vector<Field> fields(TransformerConfig& c) {
  TransformerConfig gpt2;
  const auto later = [](TransformerConfig& of) {
    const std::vector<Field> states = {
        {"causal", &of.causal, "a position sees only itself and earlier ones"},
        {"lora-merged", &of.lora.merged, "the weights contain the terms of the adapters"}};
    return joined(joined(family_fields(of), states), fields(of.lora));
  };
  const std::vector<Field> defaults = later(gpt2);
  std::vector<Field> family = later(c);
  for (size_t i = 0; i < family.size(); ++i) family[i].absent = defaults[i].text();
  return joined(gpt2_fields(c), std::move(family));
}

std::string to_json(const TransformerConfig& config) {
  TransformerConfig copy = config;
  return to_json(fields(copy));
}

TransformerConfig transformer_config_from_json(std::string_view text) {
  TransformerConfig config;
  set_from_json(fields(config), text, "Transformer config");
  return config;
}

void check_causal(const TransformerConfig& config, std::string_view what) {
  check(config.causal,
        "{}: the model's attention is bidirectional, as in a masked denoiser: it predicts masked tokens, not the next "
        "token",
        what);
}

double least_parameters(const TransformerConfig& c) {
  if (c.n_head < 1) return 0;  // no such model: its constructor refuses the configuration
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  double attention = n(c.n_embd) * n(c.head_width()) * (2 * n(c.n_head) + 2 * n(c.kv_heads()));
  if (c.latent()) {
    const double q = n(c.n_head) * (n(c.head_width()) + n(c.rope_size)), v = n(c.n_head) * n(c.v_head_width());
    attention = n(c.n_embd) * (n(c.kv_latent_size) + n(c.rope_size) + v) +
                n(c.kv_latent_size) * (n(c.n_head) * n(c.head_width()) + v) +
                (c.q_latent_size > 0 ? n(c.q_latent_size) * (n(c.n_embd) + q) : n(c.n_embd) * q);
  }
  const double mlp = n(c.hidden_width()) * (c.mlp == MlpKind::swiglu ? 3 : 2);
  const double embeddings = n(c.vocab_size) * (c.tied ? 1 : 2);
  const double positions = c.positions == Positions::learned ? n(c.block_size) : 0;
  return n(c.n_embd) * (embeddings + positions + n(c.n_layer) * mlp) + n(c.n_layer) * attention + lora_parameters(c);
}

double cache_bytes_per_token(const TransformerConfig& c) {
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  const double channels = c.latent() ? n(c.kv_latent_size) + n(c.rope_size) : 2 * n(c.kv_heads()) * n(c.head_width());
  return n(c.n_layer) * channels * static_cast<double>(size_of(c.dtype));
}

}  // namespace pg

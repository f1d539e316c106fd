// The fields of a transformer's configuration, its JSON, and the sizes that follow from it.
#include "nn/config_json.h"
#include "nn/transformer_config.h"
#include "nn/variants/latent_attention.h"
#include "nn/variants/lora.h"

namespace pg {
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
      {"latent-norm", one_of(c.latent_norm, names_of(LatentNormKind::table())),
       "the norm of the latents; with kv-latent-size"}};
}

std::vector<Field> fields(TransformerConfig& c) {
  TransformerConfig gpt2;
  const auto later = [](TransformerConfig& of) {
    const std::vector<Field> states = {
        {"causal", &of.causal, "a position sees only itself and earlier ones"},
        {"lora-merged", &of.lora.merged, "the weights contain the terms of the adapters"},
        {"lora-modules", &of.lora.modules, "the linear layers with adapters of their own rank and alpha"}};
    return joined({family_fields(of), states, fields(of.lora)});
  };
  const std::vector<Field> defaults = later(gpt2);
  std::vector<Field> family = later(c);
  for (size_t i = 0; i < family.size(); ++i) family[i].absent = defaults[i].text();
  return joined({gpt2_fields(c), family});
}

std::string to_json(const TransformerConfig& config) {
  TransformerConfig copy = config;
  return to_json(fields(copy));
}

std::string differences(const TransformerConfig& is, const TransformerConfig& is_not) {
  TransformerConfig one = is, other = is_not;
  return differences(fields(one), fields(other));
}

TransformerConfig transformer_config_from_json(std::string_view text) {
  TransformerConfig config;
  std::vector<Field> all = fields(config);
  for (Field& field : all) {  // the first checkpoints had no "in_proj_std"
    if (field.name == "in-proj-std") field.absent = field.text();
  }
  set_from_json(all, text, "Transformer config");
  return config;
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

void check_causal(const TransformerConfig& config, std::string_view what) {
  check(config.causal,
        "{}: the model's attention is bidirectional, as in a masked denoiser: it predicts masked tokens, not the next "
        "token",
        what);
}

}  // namespace pg

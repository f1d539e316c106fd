// config.json of Hugging Face, in and out.
#include "nn/files/hf_config.h"

#include <fmt/ranges.h>

#include <cmath>

#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {

// The values of a JSON object, with errors that name the key.
class detail::HfObject {
 public:
  HfObject(const Json& json, std::string_view what) : json_(json), what_(what) {}

  // Null counts as absent, as it does for transformers.
  bool has(const char* key) const { return !json_[key].is_null(); }
  int64_t size(const char* key) const {
    const Json& value = at(key);
    check(value.is_integer_in(1, INT32_MAX), "{}: '{}' must be a whole number from 1 to {}, got {}", what_, key,
          INT32_MAX, printed(value));
    return value.get<int64_t>();
  }
  int64_t size(const char* key, int64_t absent) const { return has(key) ? size(key) : absent; }
  double positive(const char* key) const {
    const Json& value = at(key);
    check(value.is_number() && value.get<double>() > 0 && std::isfinite(value.get<double>()),
          "{}: '{}' must be a number above 0, got {}", what_, key, printed(value));
    return value.get<double>();
  }
  double positive(const char* key, double absent) const { return has(key) ? positive(key) : absent; }
  bool flag(const char* key, bool absent) const {
    if (!has(key)) return absent;
    check(json_[key].is_boolean(), "{}: '{}' must be true or false, got {}", what_, key, printed(json_[key]));
    return json_[key].get<bool>();
  }
  std::string text(const char* key, const char* absent) const {
    if (!has(key)) return absent;
    check(json_[key].is_string(), "{}: '{}' must be a string, got {}", what_, key, printed(json_[key]));
    return json_[key].get<std::string>();
  }
  HfObject object(const char* key) const {
    check(at(key).is_object(), "{}: '{}' must be an object, got {}", what_, key, printed(at(key)));
    return {json_[key], what_};
  }
  // The value must be one of those that the Transformer computes.
  void only(const char* key, const std::string& value, const std::vector<std::string>& known) const {
    if (std::find(known.begin(), known.end(), value) == known.end()) {
      fail_unknown(fmt::format("{}: '{}'", what_, key), value, known);
    }
  }
  void only(const char* key, bool value) const {
    check(flag(key, value) == value, "{}: '{}' is {}; models with that are not supported", what_, key, !value);
  }
  const std::string& what() const { return what_; }

 private:
  const Json& at(const char* key) const {
    check(has(key), "{}: '{}' is missing", what_, key);
    return json_[key];
  }
  static std::string printed(const Json& value) { return excerpt(value.dump(-1, Json::Utf8::replace)); }

  const Json& json_;
  const std::string what_;
};

namespace {

using detail::HfObject;

Rope rope_of(const HfObject& o) {
  // transformers 5 writes one object rope_parameters; before, rope_theta stood beside rope_scaling.
  Rope rope(o.positive("rope_theta", 10000));
  const char* key = o.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!o.has(key)) return rope;
  const HfObject scaling = o.object(key);
  rope.base = scaling.positive("rope_theta", rope.base);
  const std::string type = scaling.text(scaling.has("rope_type") ? "rope_type" : "type", "default");
  scaling.only("rope_type", type, {"default", "llama3"});
  if (type == "default") return rope;
  rope.factor = scaling.positive("factor");
  rope.low_freq_factor = scaling.positive("low_freq_factor");
  rope.high_freq_factor = scaling.positive("high_freq_factor");
  check(rope.low_freq_factor < rope.high_freq_factor,
        "{}: 'high_freq_factor' must be above 'low_freq_factor', got {} and {}", o.what(), rope.high_freq_factor,
        rope.low_freq_factor);
  rope.original_length = static_cast<double>(scaling.size("original_max_position_embeddings"));
  return rope;
}

TransformerConfig read_gpt2(const HfObject& o) {
  TransformerConfig c;
  c.vocab_size = o.size("vocab_size");
  c.block_size = o.size("n_positions", o.size("n_ctx", 1024));
  c.n_layer = o.size("n_layer");
  c.n_head = o.size("n_head");
  c.n_embd = o.size("n_embd");
  c.n_hidden = o.size("n_inner", 0);
  c.norm_eps = o.positive("layer_norm_epsilon", 1e-5);
  c.tied = o.flag("tie_word_embeddings", true);
  o.only("activation_function", o.text("activation_function", "gelu_new"), {"gelu_new", "gelu_pytorch_tanh"});
  o.only("scale_attn_weights", true);
  o.only("scale_attn_by_inverse_layer_idx", false);
  o.only("add_cross_attention", false);
  return c;
}

TransformerConfig read_llama(const HfObject& o) {
  TransformerConfig c;
  c.vocab_size = o.size("vocab_size");
  c.block_size = o.size("max_position_embeddings");
  c.n_layer = o.size("num_hidden_layers");
  c.n_head = o.size("num_attention_heads");
  c.n_kv_head = o.size("num_key_value_heads", c.n_head);
  c.n_embd = o.size("hidden_size");
  c.head_size = o.size("head_dim", 0);
  c.n_hidden = o.size("intermediate_size");
  c.bias = false;
  c.norm = NormKind::rms;
  c.norm_eps = o.positive("rms_norm_eps");
  c.positions = Positions::rope;
  c.rope = rope_of(o);
  c.mlp = MlpKind::swiglu;
  c.tied = o.flag("tie_word_embeddings", false);
  o.only("hidden_act", o.text("hidden_act", "silu"), {"silu"});
  o.only("attention_bias", false);
  o.only("mlp_bias", false);
  // Layers from max_window_layers on have a window: none of them if it is the number of layers.
  if (!o.has("max_window_layers") || o.size("max_window_layers") < c.n_layer) o.only("use_sliding_window", false);
  return c;
}

TransformerConfig read_qwen2(const HfObject& o) {
  TransformerConfig c = read_llama(o);
  c.qkv_bias = true;
  return c;
}

TransformerConfig read_qwen3(const HfObject& o) {
  TransformerConfig c = read_llama(o);
  if (!o.has("head_dim")) c.head_size = 128;  // what transformers takes for Qwen3
  c.qk_norm = true;
  return c;
}

}  // namespace

const std::vector<detail::ModelFamily>& detail::model_families() {
  static const std::vector<ModelFamily> rows = {{"gpt2", "GPT2LMHeadModel", read_gpt2, false, false, false},
                                                {"llama", "LlamaForCausalLM", read_llama, true, false, false},
                                                {"qwen2", "Qwen2ForCausalLM", read_qwen2, true, true, false},
                                                {"qwen3", "Qwen3ForCausalLM", read_qwen3, true, false, true}};
  return rows;
}

TransformerConfig detail::canonical(TransformerConfig c) {
  if (c.n_kv_head == c.n_head) c.n_kv_head = 0;
  if (c.head_size * c.n_head == c.n_embd) c.head_size = 0;
  if (c.n_hidden == 4 * c.n_embd) c.n_hidden = 0;
  if (c.rope.factor == 1) c.rope = Rope(c.rope.base);
  return c;
}

namespace {

bool like_gpt2(const TransformerConfig& c) {
  return c.norm == NormKind::layer && c.positions == Positions::learned && c.mlp == MlpKind::gelu && c.bias &&
         c.kv_heads() == c.n_head && c.head_width() * c.n_head == c.n_embd && !c.qk_norm;
}
bool like_llama(const TransformerConfig& c) {
  return c.norm == NormKind::rms && c.positions == Positions::rope && c.mlp == MlpKind::swiglu && !c.bias;
}

// Null: none of the known ones.
const detail::ModelFamily* family_of(const TransformerConfig& c) {
  if (c.latent() || !c.causal) return nullptr;
  for (const detail::ModelFamily& f : detail::model_families()) {
    const bool alike =
        f.like_llama ? like_llama(c) && f.has_qkv_bias == c.qkv_bias && f.has_qk_norm == c.qk_norm : like_gpt2(c);
    if (alike) return &f;
  }
  return nullptr;
}

const char* torch_dtype(DType dtype) { return dtype == bf16 ? "bfloat16" : dtype == f64 ? "float64" : "float32"; }

}  // namespace

std::string_view hf_model_type(const TransformerConfig& c) {
  const detail::ModelFamily* family = family_of(c);
  return family ? family->name : "";
}

void check_no_latent(const TransformerConfig& c) {
  check(!c.latent(), "pretrained: the model has latent attention, which none of the model types {} has",
        fmt::join(names_of(detail::model_families()), ", "));
}

TransformerConfig config_from_hf(std::string_view text, std::string_view what) {
  const Json json = Json::try_parse(shallow_json(text, what));
  check(json.is_object(), "{}: expected a JSON object, got '{}'", what, excerpt(text));
  const HfObject o(json, what);
  check(o.has("model_type"), "{}: 'model_type' is missing", what);
  const auto& family =
      find_row(detail::model_families(), fmt::format("{}: 'model_type'", what), o.text("model_type", ""));
  const TransformerConfig config = detail::canonical(family.read(o));
  check_config(config, what);
  return config;
}

std::string config_to_hf(const TransformerConfig& c) {
  check_no_latent(c);
  const detail::ModelFamily* family = family_of(c);
  check(family != nullptr,
        "config.json: no model type of {} has this combination of norm, positions, mlp, biases and attention",
        fmt::join(names_of(detail::model_families()), ", "));
  Json json;
  if (!family->like_llama) {
    json = {{"architectures", {family->architecture}},
            {"model_type", family->name},
            {"vocab_size", c.vocab_size},
            {"n_positions", c.block_size},
            {"n_ctx", c.block_size},
            {"n_embd", c.n_embd},
            {"n_layer", c.n_layer},
            {"n_head", c.n_head},
            {"n_inner", c.hidden_width()},
            {"activation_function", "gelu_new"},
            {"layer_norm_epsilon", c.norm_eps},
            {"resid_pdrop", c.dropout},
            {"embd_pdrop", c.dropout},
            {"attn_pdrop", 0.0}};
  } else {
    json = {{"architectures", {family->architecture}},
            {"model_type", family->name},
            {"vocab_size", c.vocab_size},
            {"max_position_embeddings", c.block_size},
            {"hidden_size", c.n_embd},
            {"intermediate_size", c.hidden_width()},
            {"num_hidden_layers", c.n_layer},
            {"num_attention_heads", c.n_head},
            {"num_key_value_heads", c.kv_heads()},
            {"head_dim", c.head_width()},
            {"hidden_act", "silu"},
            {"rms_norm_eps", c.norm_eps},
            {"rope_theta", c.rope.base},
            {"attention_dropout", 0.0}};
    if (c.rope.factor != 1) {
      json["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", c.rope.factor},
                              {"low_freq_factor", c.rope.low_freq_factor},
                              {"high_freq_factor", c.rope.high_freq_factor},
                              {"original_max_position_embeddings", static_cast<int64_t>(c.rope.original_length)}};
    }
  }
  json["tie_word_embeddings"] = c.tied;
  json["torch_dtype"] = torch_dtype(c.dtype);
  return json.dump(2) + "\n";
}

}  // namespace pg

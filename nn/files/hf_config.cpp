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
  bool has(std::string_view key) const { return !json_[key].is_null(); }
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
  // A member of a configuration.
  void read(const std::string& key, int64_t& value) const { value = size(key.c_str()); }
  void read(const std::string& key, double& value) const { value = positive(key.c_str()); }
  void read(const std::string& key, bool& value) const { value = flag(key.c_str(), value); }
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

void read_gpt2(const HfObject& o, TransformerConfig& c) {
  if (!o.has("n_positions")) c.block_size = o.size("n_ctx", 1024);
  o.only("activation_function", o.text("activation_function", "gelu_new"), {"gelu_new", "gelu_pytorch_tanh"});
  o.only("scale_attn_weights", true);
  o.only("scale_attn_by_inverse_layer_idx", false);
  o.only("add_cross_attention", false);
}

void read_llama(const HfObject& o, TransformerConfig& c) {
  c.rope = rope_of(o);
  o.only("hidden_act", o.text("hidden_act", "silu"), {"silu"});
  o.only("attention_bias", false);
  o.only("mlp_bias", false);
  // Layers from max_window_layers on have a window: none of them if it is the number of layers.
  if (!o.has("max_window_layers") || o.size("max_window_layers") < c.n_layer) o.only("use_sliding_window", false);
}

void read_qwen3(const HfObject& o, TransformerConfig& c) {
  if (!o.has("head_dim")) c.head_size = 128;  // what transformers takes for Qwen3
  read_llama(o, c);
}

void choose_llama(TransformerConfig& c) {
  c.bias = c.tied = false;
  c.norm = NormKind::rms;
  c.positions = Positions::rope;
  c.mlp = MlpKind::swiglu;
}
void choose_qwen2(TransformerConfig& c) {
  choose_llama(c);
  c.qkv_bias = true;
}
void choose_qwen3(TransformerConfig& c) {
  choose_llama(c);
  c.qk_norm = true;
}

}  // namespace

const std::vector<detail::ModelFamily>& detail::model_families() {
  static const std::vector<ModelFamily> rows = {
      {"gpt2", "GPT2LMHeadModel", false, [](TransformerConfig&) {}, read_gpt2},
      {"llama", "LlamaForCausalLM", true, choose_llama, read_llama},
      {"qwen2", "Qwen2ForCausalLM", true, choose_qwen2, read_llama},
      {"qwen3", "Qwen3ForCausalLM", true, choose_qwen3, read_qwen3}};
  return rows;
}

const std::vector<detail::FileKey>& detail::file_keys() {
  using C = TransformerConfig;
  static const std::vector<FileKey> rows = {
      {&C::vocab_size, {"vocab_size"}, {"vocab_size"}, {}},
      {&C::block_size, {"n_positions", true}, {"max_position_embeddings"}, {"context_length"}},
      {&C::n_embd, {"n_embd"}, {"hidden_size"}, {"embedding_length"}},
      {&C::n_hidden, {"n_inner", true}, {"intermediate_size"}, {"feed_forward_length"}},
      {&C::n_layer, {"n_layer"}, {"num_hidden_layers"}, {"block_count"}},
      {&C::n_head, {"n_head"}, {"num_attention_heads"}, {"attention.head_count"}},
      {&C::n_kv_head, {}, {"num_key_value_heads", true}, {"attention.head_count_kv", true}},
      {&C::head_size, {}, {"head_dim", true}, {"attention.key_length", true}},
      {&C::norm_eps, {"layer_norm_epsilon", true}, {"rms_norm_eps"}, {"attention.layer_norm_rms_epsilon"}},
      {&C::tied, {"tie_word_embeddings", true}, {"tie_word_embeddings", true}, {}}};
  return rows;
}

TransformerConfig detail::canonical(TransformerConfig c) {
  if (c.n_kv_head == c.n_head) c.n_kv_head = 0;
  if (c.head_size * c.n_head == c.n_embd) c.head_size = 0;
  if (c.n_hidden == 4 * c.n_embd) c.n_hidden = 0;
  if (c.rope.factor == 1) c.rope = Rope(c.rope.base);
  if (c.bias) c.qkv_bias = false;
  return c;
}

namespace {

// Null: none of the known ones. A model is of a family if all but what the family's files state is as it chooses.
const detail::ModelFamily* family_of(const TransformerConfig& config) {
  const TransformerConfig c = detail::canonical(config);
  for (const detail::ModelFamily& f : detail::model_families()) {
    TransformerConfig alike;
    f.choose(alike);
    for (const detail::FileKey& key : detail::file_keys()) {
      if ((f.like_llama ? key.llama : key.gpt2).name.empty()) continue;
      std::visit([&](auto member) { alike.*member = c.*member; }, key.member);
    }
    alike.rope = c.rope, alike.dropout = c.dropout, alike.in_proj_std = c.in_proj_std;
    alike.dtype = c.dtype, alike.lora = c.lora;
    if (alike == c) return &f;
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
  TransformerConfig c;
  family.choose(c);
  for (const detail::FileKey& row : detail::file_keys()) {
    const detail::FileKey::Name& key = family.like_llama ? row.llama : row.gpt2;
    if (key.name.empty() || (key.optional && !o.has(key.name))) continue;
    std::visit([&](auto member) { o.read(key.name, c.*member); }, row.member);
  }
  family.read(o, c);
  const TransformerConfig config = detail::canonical(c);
  check_config(config, what);
  return config;
}

std::string config_to_hf(const TransformerConfig& c) {
  check_no_latent(c);
  const detail::ModelFamily* family = family_of(c);
  check(family != nullptr,
        "config.json: no model type of {} has this combination of norm, positions, mlp, biases and attention",
        fmt::join(names_of(detail::model_families()), ", "));
  Json json = {{"architectures", {family->architecture}}, {"model_type", family->name}};
  TransformerConfig all = c;
  all.n_kv_head = c.kv_heads(), all.head_size = c.head_width(), all.n_hidden = c.hidden_width();
  for (const detail::FileKey& row : detail::file_keys()) {
    const detail::FileKey::Name& key = family->like_llama ? row.llama : row.gpt2;
    if (!key.name.empty()) std::visit([&](auto member) { json[key.name] = all.*member; }, row.member);
  }
  if (!family->like_llama) {
    json.update({{"n_ctx", c.block_size},
                 {"activation_function", "gelu_new"},
                 {"resid_pdrop", c.dropout},
                 {"embd_pdrop", c.dropout},
                 {"attn_pdrop", 0.0}});
  } else {
    json.update({{"hidden_act", "silu"}, {"rope_theta", c.rope.base}, {"attention_dropout", 0.0}});
    if (c.rope.factor != 1) {
      json["rope_scaling"] = {{"rope_type", "llama3"},
                              {"factor", c.rope.factor},
                              {"low_freq_factor", c.rope.low_freq_factor},
                              {"high_freq_factor", c.rope.high_freq_factor},
                              {"original_max_position_embeddings", static_cast<int64_t>(c.rope.original_length)}};
    }
  }
  json["torch_dtype"] = torch_dtype(c.dtype);
  return json.dump(2) + "\n";
}

}  // namespace pg

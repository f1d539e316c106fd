// Configurations of pretrained models: config.json of Hugging Face and the metadata of GGUF files, in terms of ours.
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "nn/pretrained.h"
#include "tensor/base/error.h"
#include "tensor/base/gguf.h"
#include "tensor/base/table.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

using Json = nlohmann::ordered_json;

// The values of a JSON object, with errors that name the key.
class Object {
 public:
  Object(const Json& json, std::string_view what) : json_(json), what_(what) {}

  // Null counts as absent, as it does for transformers.
  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }
  int64_t size(const char* key) const {
    const Json& value = at(key);
    check(value.is_number_integer() && value >= 1 && value <= INT32_MAX,
          "{}: '{}' must be a whole number from 1 to {}, got {}", what_, key, INT32_MAX, printed(value));
    return value.get<int64_t>();
  }
  int64_t size(const char* key, int64_t absent) const { return has(key) ? size(key) : absent; }
  double positive(const char* key) const {
    const Json& value = at(key);
    check(value.is_number() && value > 0.0 && std::isfinite(value.get<double>()),
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
  Object object(const char* key) const {
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
  static std::string printed(const Json& value) {
    return excerpt(value.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  const Json& json_;
  const std::string what_;
};

Rope rope_of(const Object& o) {
  // transformers 5 writes one object rope_parameters; before, rope_theta stood beside rope_scaling.
  Rope rope(o.positive("rope_theta", 10000));
  const char* key = o.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  if (!o.has(key)) return rope;
  const Object scaling = o.object(key);
  rope.base = scaling.positive("rope_theta", rope.base);
  const std::string type = scaling.text(scaling.has("rope_type") ? "rope_type" : "type", "default");
  scaling.only("rope_type", type, {"default", "llama3"});
  if (type == "default") return rope;
  rope.factor = scaling.positive("factor");
  rope.low_freq_factor = scaling.positive("low_freq_factor");
  rope.high_freq_factor = scaling.positive("high_freq_factor");
  rope.original_length = static_cast<double>(scaling.size("original_max_position_embeddings"));
  return rope;
}

TransformerConfig read_gpt2(const Object& o) {
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

TransformerConfig read_llama(const Object& o) {
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
  o.only("use_sliding_window", false);
  return c;
}

TransformerConfig read_qwen2(const Object& o) {
  TransformerConfig c = read_llama(o);
  c.qkv_bias = true;
  return c;
}

TransformerConfig read_qwen3(const Object& o) {
  TransformerConfig c = read_llama(o);
  if (!o.has("head_dim")) c.head_size = 128;  // what transformers takes for Qwen3
  c.qk_norm = true;
  return c;
}

struct Family {
  const char* name;          // model_type, and the architecture of GGUF files
  const char* architecture;  // the class in transformers
  TransformerConfig (*read)(const Object&);
  bool has_qkv_bias, has_qk_norm;  // of the types like llama
};
const std::vector<Family>& families() {
  static const std::vector<Family> rows = {{"gpt2", "GPT2LMHeadModel", read_gpt2, false, false},
                                           {"llama", "LlamaForCausalLM", read_llama, false, false},
                                           {"qwen2", "Qwen2ForCausalLM", read_qwen2, true, false},
                                           {"qwen3", "Qwen3ForCausalLM", read_qwen3, false, true}};
  return rows;
}

// Sizes that follow from others are 0, so that equal models have equal configurations.
TransformerConfig canonical(TransformerConfig c) {
  if (c.n_kv_head == c.n_head) c.n_kv_head = 0;
  if (c.head_size * c.n_head == c.n_embd) c.head_size = 0;
  if (c.n_hidden == 4 * c.n_embd) c.n_hidden = 0;
  return c;
}

bool like_gpt2(const TransformerConfig& c) {
  return c.norm == NormKind::layer && c.positions == Positions::learned && c.mlp == MlpKind::gelu && c.bias &&
         c.kv_heads() == c.n_head && c.head_width() * c.n_head == c.n_embd && !c.qk_norm;
}
bool like_llama(const TransformerConfig& c) {
  return c.norm == NormKind::rms && c.positions == Positions::rope && c.mlp == MlpKind::swiglu && !c.bias;
}

const char* torch_dtype(DType dtype) { return dtype == bf16 ? "bfloat16" : dtype == f64 ? "float64" : "float32"; }

}  // namespace

void check_no_latent(const TransformerConfig& c) {
  check(!c.latent(), "pretrained: the model has latent attention, which none of the model types {} has",
        fmt::join(names_of(families()), ", "));
}

TransformerConfig config_from_hf(std::string_view text, std::string_view what) {
  const Json json = Json::parse(shallow_json(text, what), nullptr, /*allow_exceptions=*/false);
  check(json.is_object(), "{}: expected a JSON object, got '{}'", what, excerpt(text));
  const Object o(json, what);
  check(o.has("model_type"), "{}: 'model_type' is missing", what);
  return canonical(find_row(families(), fmt::format("{}: 'model_type'", what), o.text("model_type", "")).read(o));
}

std::string config_to_hf(const TransformerConfig& c) {
  check_no_latent(c);
  Json json;
  if (like_gpt2(c)) {
    json = {{"architectures", {"GPT2LMHeadModel"}},
            {"model_type", "gpt2"},
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
    const auto family = std::find_if(families().begin(), families().end(), [&](const Family& f) {
      return f.read != read_gpt2 && f.has_qkv_bias == c.qkv_bias && f.has_qk_norm == c.qk_norm;
    });
    check(like_llama(c) && family != families().end(),
          "config.json: no model type of {} has this combination of norm, positions, mlp and biases",
          fmt::join(names_of(families()), ", "));
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

TransformerConfig config_from_gguf(const TensorSource& source) {
  const GgufFile& file = *source.gguf();
  const std::string type(file.string_at("general.architecture"));
  const Family& family = find_row(families(), fmt::format("{}: 'general.architecture'", file.path()), type);
  check(family.read != read_gpt2, "{}: a GPT-2 of a GGUF file cannot be read; its Hugging Face folder can",
        file.path());
  const auto key = [&](const char* name) { return type + "." + name; };
  const auto size = [&](const std::string& name) {
    const int64_t value = file.integer_at(name);
    check(value >= 1 && value <= INT32_MAX, "{}: '{}' must be from 1 to {}, got {}", file.path(), name, INT32_MAX,
          value);
    return value;
  };
  const auto number = [&](const std::string& name) {
    const double value = file.number_at(name);
    check(value > 0 && std::isfinite(value), "{}: '{}' must be a number above 0, got {}", file.path(), name, value);
    return value;
  };
  TransformerConfig c;
  const Shape& embedding = source.at("token_embd.weight").shape;
  check(embedding.rank() == 2, "{}: 'token_embd.weight' must be [V, C], it is {}", file.path(), embedding);
  c.vocab_size = embedding[0];
  c.block_size = size(key("context_length"));
  c.n_layer = size(key("block_count"));
  c.n_head = size(key("attention.head_count"));
  c.n_kv_head = file.find(key("attention.head_count_kv")) ? size(key("attention.head_count_kv")) : c.n_head;
  c.n_embd = size(key("embedding_length"));
  c.head_size = file.find(key("attention.key_length")) ? size(key("attention.key_length")) : 0;
  c.n_hidden = size(key("feed_forward_length"));
  c.bias = false;
  c.norm = NormKind::rms;
  c.norm_eps = number(key("attention.layer_norm_rms_epsilon"));
  c.positions = Positions::rope;
  c.rope = Rope(file.find(key("rope.freq_base")) ? number(key("rope.freq_base")) : 10000);
  c.mlp = MlpKind::swiglu;
  c.qkv_bias = family.has_qkv_bias;
  c.qk_norm = family.has_qk_norm;
  c.tied = !source.find("output.weight");
  check(!file.find(key("rope.scaling.type")) || file.string_at(key("rope.scaling.type")) == "none",
        "{}: '{}' is '{}'; it is not supported", file.path(), key("rope.scaling.type"),
        file.find(key("rope.scaling.type")) ? file.string_at(key("rope.scaling.type")) : "");
  if (source.find("rope_freqs.weight")) {  // Llama 3.1 and later: divisors of the frequencies
    const std::vector<double> divisors = source.read("rope_freqs.weight", f32).to_vector();
    for (const double divisor : divisors) c.rope.factor = std::max(c.rope.factor, divisor);
    const auto half = static_cast<int64_t>(divisors.size());
    for (int64_t i = 0; i < half; ++i) {
      const double plain = std::pow(c.rope.base, -static_cast<double>(i) / static_cast<double>(half));
      check(std::abs(plain / c.rope.frequency(plain) / divisors[i] - 1) < 1e-4,
            "{}: the divisors of 'rope_freqs.weight' are not those of Llama 3 (element {} is {})", file.path(), i,
            divisors[i]);
    }
  }
  return canonical(c);
}

}  // namespace pg

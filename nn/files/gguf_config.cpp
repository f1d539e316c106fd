// The configuration in the metadata of a GGUF file.
#include <cmath>
#include <vector>

#include "nn/files/hf_config.h"
#include "nn/files/pretrained.h"
#include "tensor/base/error.h"
#include "tensor/base/files/gguf.h"
#include "tensor/base/table.h"

namespace pg {

TransformerConfig config_from_gguf(const TensorSource& source) {
  const GgufFile& file = *source.gguf();
  const std::string type(file.string_at("general.architecture"));
  const detail::ModelFamily& family =
      find_row(detail::model_families(), fmt::format("{}: 'general.architecture'", file.path()), type);
  check(family.like_llama, "{}: a GPT-2 of a GGUF file cannot be read; its Hugging Face folder can", file.path());
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
    const Shape& shape = source.at("rope_freqs.weight").shape;
    check(shape == Shape({c.head_width() / 2}), "{}: 'rope_freqs.weight' must be [{}], it is {}", file.path(),
          c.head_width() / 2, shape);
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
  const TransformerConfig config = detail::canonical(c);
  check_config(config, file.path());
  return config;
}

}  // namespace pg

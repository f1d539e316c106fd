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
  const auto key = [&](const std::string& name) { return type + "." + name; };
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
  family.choose(c);
  const Shape& embedding = source.at("token_embd.weight").shape;
  check(embedding.rank() == 2, "{}: 'token_embd.weight' must be [V, C], it is {}", file.path(), embedding);
  c.vocab_size = embedding[0];
  for (const detail::FileKey& row : detail::file_keys()) {
    const std::string name = key(row.gguf.name);
    if (row.gguf.name.empty() || (row.gguf.optional && !file.find(name))) continue;
    const auto* whole = std::get_if<int64_t TransformerConfig::*>(&row.member);
    if (whole) c.*(*whole) = size(name);
    if (!whole) c.*std::get<double TransformerConfig::*>(row.member) = number(name);
  }
  if (file.find(key("rope.freq_base"))) c.rope = Rope(number(key("rope.freq_base")));
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

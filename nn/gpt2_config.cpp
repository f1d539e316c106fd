// The fields of GPT-2's configuration, its JSON, and a bound on the model's size.
#include "nn/config_json.h"
#include "nn/gpt2.h"

namespace pg {

std::vector<Field> fields(Gpt2Config& c) {
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

std::string to_json(const Gpt2Config& config) {
  Gpt2Config copy = config;
  return to_json(fields(copy));
}

Gpt2Config gpt2_config_from_json(std::string_view text) {
  Gpt2Config config;
  set_from_json(fields(config), text, "Gpt2 config");
  return config;
}

double least_parameters(const Gpt2Config& c) {
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  return n(c.n_embd) * (n(c.vocab_size) + n(c.block_size) + 12 * n(c.n_layer) * n(c.n_embd));
}

}  // namespace pg

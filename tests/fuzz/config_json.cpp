// Fuzz target: a config.json. What is read describes a model, and our own config.json of it describes the same one.
// sources: nn/check_config.cpp nn/variants/check_variants.cpp nn/files/hf_config.cpp
// sources: tensor/base/fields.cpp tensor/base/text.cpp tensor/base/json.cpp tensor/base/json_text.cpp
// seed: {"model_type":"gpt2","vocab_size":9,"n_layer":1,"n_head":2,"n_embd":8,"n_inner":null}
// seed-file: tests/goldens/pretrained/gpt2/config.json
// seed-file: tests/goldens/pretrained/llama/config.json
// seed-file: tests/goldens/pretrained/qwen2/config.json
// seed-file: tests/goldens/pretrained/qwen3/config.json
#include <cmath>

#include "nn/files/hf_config.h"
#include "tensor/base/error.h"

using namespace pg;

namespace {

bool is_size(double value) { return value >= 1 && value <= INT32_MAX; }

// What the Transformer relies on, stated apart from check_config().
bool describes_model(const TransformerConfig& c) {
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  for (const int64_t size : {c.vocab_size, c.block_size, c.n_layer, c.n_head, c.n_embd}) {
    if (!is_size(n(size))) return false;
  }
  if (c.n_kv_head < 0 || c.head_size < 0 || c.n_hidden < 0) return false;  // 0: it follows from the others
  if (c.head_size == 0 && c.n_embd % c.n_head != 0) return false;
  if (c.n_kv_head != 0 && c.n_head % c.n_kv_head != 0) return false;
  if (c.positions == Positions::rope && c.head_width() % 2 != 0) return false;
  const Rope& r = c.rope;
  for (const double value : {c.norm_eps, r.base, r.factor, r.low_freq_factor, r.high_freq_factor, r.original_length}) {
    if (!(value > 0) || std::isinf(value)) return false;
  }
  if (r.factor != 1 && r.low_freq_factor >= r.high_freq_factor) return false;
  return is_size(n(c.head_width())) && is_size(n(c.hidden_width())) &&
         is_size((n(c.n_head) + 2 * n(c.kv_heads())) * n(c.head_width())) && c.causal && !c.latent() &&
         c.lora.rank == 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  TransformerConfig config;
  try {
    config = config_from_hf({reinterpret_cast<const char*>(data), size}, "input");
  } catch (const Error&) {
    return 0;
  }
  if (!describes_model(config)) __builtin_trap();
  if (!(config_from_hf(config_to_hf(config), "output") == config)) __builtin_trap();
  return 0;
}

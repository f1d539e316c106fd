#pragma once
// GGUF files of small models of the Llama family.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nn/transformer.h"
#include "tests/model_files.h"

namespace pg::testing {

inline std::string floats(const Tensor& x) {
  std::string bytes;
  for (const double value : x.to_vector()) bytes += bytes_of({static_cast<float>(value)});
  return bytes;
}

// The rows of each head in the order 0, d/2, 1, d/2 + 1, ..., as GGUF files of llama have those of queries and keys.
inline Tensor interleaved(const Tensor& rows, int64_t heads) {
  const int64_t half = rows.size(0) / heads / 2;
  const Tensor result = Tensor::empty(rows.shape());
  for (int64_t row = 0; row < rows.size(0); ++row) {
    const int64_t head = row / (2 * half), i = row % (2 * half), from = i % 2 * half + i / 2;
    result.view_slice(0, row, row + 1)
        .copy_from(rows.view_slice(0, head * 2 * half + from, head * 2 * half + from + 1));
  }
  return result;
}

// A model of the Llama family without biases as a GGUF file in f32, with `more` tensors by their names there, and
// llama.rope.freq_base unless it is 0. An untied head is among them.
inline std::string gguf_of(Transformer& model, const NamedTensors& more = {}, double rope_base = 0) {
  const TransformerConfig& c = model.config;
  std::map<std::string, Tensor> ours;
  for (const auto& [name, tensor] : state_dict(model)) ours[name] = tensor;
  GgufBuilder b;
  b.string("general.architecture", "llama");
  const auto number = [&](const char* key, int64_t value) {
    b.number<uint32_t>(std::string("llama.") + key, GgufType::u32, static_cast<uint32_t>(value));
  };
  number("context_length", c.block_size);
  number("block_count", c.n_layer);
  number("attention.head_count", c.n_head);
  number("attention.head_count_kv", c.kv_heads());
  number("embedding_length", c.n_embd);
  number("feed_forward_length", c.hidden_width());
  b.number<float>("llama.attention.layer_norm_rms_epsilon", GgufType::f32, 0.5f);
  if (rope_base > 0) b.number<float>("llama.rope.freq_base", GgufType::f32, static_cast<float>(rope_base));
  const auto add = [&](const std::string& name, const Tensor& x) {
    std::vector<uint64_t> sizes;
    for (int i = x.rank(); i-- > 0;) sizes.push_back(static_cast<uint64_t>(x.size(i)));
    b.tensor(name + ".weight", sizes, 0, floats(x));
  };
  add("token_embd", ours.at("wte.weight"));
  add("output_norm", ours.at("ln_f.weight"));
  for (int64_t i = 0; i < c.n_layer; ++i) {
    const std::string block = fmt::format("blk.{}.", i), own = fmt::format("h.{}.", i);
    const Tensor all = ours.at(own + "attn.c_attn.weight");
    const int64_t q = c.n_head * c.head_width(), k = c.kv_heads() * c.head_width();
    add(block + "attn_q", interleaved(all.view_slice(0, 0, q), c.n_head));
    add(block + "attn_k", interleaved(all.view_slice(0, q, q + k), c.kv_heads()));
    add(block + "attn_v", all.view_slice(0, q + k, q + 2 * k));
    const std::pair<const char*, const char*> names[] = {{"attn_norm", "ln_1"},          {"ffn_norm", "ln_2"},
                                                         {"attn_output", "attn.c_proj"}, {"ffn_gate", "mlp.c_gate"},
                                                         {"ffn_up", "mlp.c_fc"},         {"ffn_down", "mlp.c_proj"}};
    for (const auto& [theirs, mine] : names) add(block + theirs, ours.at(own + mine + ".weight"));
  }
  for (const auto& [name, x] : more) add(name, x);
  return b.file();
}

// Grouped heads, no biases, rotary positions.
inline TransformerConfig small_llama(int64_t heads = 4, int64_t kv_heads = 2, int64_t width = 16) {
  TransformerConfig c{
      .vocab_size = 11, .block_size = 8, .n_layer = 2, .n_head = heads, .n_embd = width, .in_proj_std = 0.3};
  c.n_kv_head = kv_heads;
  c.n_hidden = 24;
  c.bias = false;
  c.norm = NormKind::rms;
  c.norm_eps = 0.5;
  c.positions = Positions::rope;
  c.mlp = MlpKind::swiglu;
  return c;
}

}  // namespace pg::testing

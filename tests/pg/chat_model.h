#pragma once
// A small chat model as a Hugging Face folder, and a text file to tune it on.
#include <fstream>
#include <string>

#include "nn/files/pretrained.h"
#include "tests/tasks/byte_tokenizer.h"

namespace pg::testing {

// A folder with a small model of the Llama family and a tokenizer of single bytes.
inline void write_chat_model(const std::string& folder) {
  TransformerConfig config;
  config.vocab_size = 260;
  config.block_size = 64;
  config.n_layer = 1;
  config.n_head = 2;
  config.n_kv_head = 1;
  config.n_embd = 16;
  config.n_hidden = 24;
  config.bias = false;
  config.norm = NormKind::rms;
  config.positions = Positions::rope;
  config.mlp = MlpKind::swiglu;
  config.in_proj_std = 0.25;
  Generator random(5);
  Transformer model(config, random);
  save_pretrained(model, folder);
  std::ofstream(folder + "/tokenizer.json") << byte_tokenizer().to_json();
  std::ofstream(folder + "/tokenizer_config.json") << R"({"chat_template": "chatml"})";
}

inline void write_chat_data(const std::string& path) {
  std::ofstream file(path);
  for (int i = 0; i < 11; ++i) {
    file << "{\"prompt\": \"" << i << "\", \"response\": \"" << std::string(1 + i % 3, 'a') << "\"}\n";
  }
}

}  // namespace pg::testing

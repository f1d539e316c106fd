// write_qwen TOKENIZER FOLDER: a small random model of Qwen2.5-Math's kind, as a Hugging Face folder: type qwen2,
// biases of queries, keys and values, tied embeddings, grouped heads, more rows of embeddings than tokens, its chat
// template.
#include <cstdio>
#include <exception>

#include "nn/files/pretrained.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tasks/chat/chat.h"
#include "tasks/data/fetch.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/error.h"

namespace {

void write_qwen(const std::string& tokenizer_path, const std::string& folder) {
  const auto tokenizer = pg::load_tokenizer(tokenizer_path);
  pg::TransformerConfig config;
  config.vocab_size = tokenizer->vocab_size() + 7;
  config.block_size = 512;
  config.n_layer = 2;
  config.n_head = 4;
  config.n_kv_head = 2;
  config.n_embd = 32;
  config.n_hidden = 64;
  config.bias = false;
  config.qkv_bias = true;
  config.tied = true;
  config.norm = pg::NormKind::rms;
  config.positions = pg::Positions::rope;
  config.mlp = pg::MlpKind::swiglu;
  config.in_proj_std = 0.18;
  pg::Generator random(5);
  pg::Transformer model(config, random);
  pg::save_pretrained(model, folder);
  pg::write_file_atomically(folder + "/tokenizer.json", tokenizer->to_json());
  const pg::Json tokenizer_config = {{"chat_template", pg::ChatTemplate("qwen2.5-math").program()}};
  pg::write_file_atomically(folder + "/tokenizer_config.json", tokenizer_config.dump() + "\n");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    pg::check(argc == 3, "usage: write_qwen TOKENIZER FOLDER");
    write_qwen(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "write_qwen: %s\n", e.what());
    return 1;
  }
}

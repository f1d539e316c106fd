#pragma once
// Small tokenizers for tests.
#include <string>
#include <vector>

#include "tasks/bpe/byte_level.h"
#include "tasks/bpe/tokenizer_files.h"
#include "tensor/base/json.h"

namespace pg::testing {

using Ids = std::vector<int32_t>;

// A tokenizer.json with all 256 bytes, in the order of their symbols ('!' is 0, 'a' is 64), and these merges of
// symbols.
inline Json tokenizer_json(const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  Json vocab, pairs = Json::array();
  int id = 0;
  for (const char c : bytes_in_symbol_order()) vocab[byte_symbol(static_cast<uint8_t>(c))] = id++;
  for (const auto& [left, right] : merges) {
    vocab[left + right] = id++;
    pairs.push_back({left, right});
  }
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"post_processor", nullptr},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", pairs}}}};
}

inline Json added_token(int id, const std::string& content, const std::vector<std::string>& flags = {}) {
  Json token = {{"id", id}, {"content", content}};
  for (const std::string& flag : flags) token[flag] = true;
  return token;
}

}  // namespace pg::testing

#pragma once
// A tokenizer whose vocabulary is a list of tokens: the digits and signs of a task, or the words of a small language.
#include "tasks/tokenizer.h"

namespace pg {

class TokenList : public Tokenizer {
 public:
  // Token i is tokens[i]; tokens must be distinct and not empty. With `words`, decode() puts a space before every token
  // that begins with a letter or digit, except the first of the text, and encode() skips white space and accepts whole
  // words only. `end` is the token that ends a text, -1 for none.
  TokenList(std::vector<std::string> tokens, bool words, int32_t end);

  // Greedy: at each byte the longest token that matches.
  std::vector<int32_t> encode(std::string_view text) const override;
  std::string decode(std::span<const int32_t> ids) const override;
  int64_t vocab_size() const override { return static_cast<int64_t>(tokens_.size()); }
  int32_t end_id() const override { return end_; }

  // {"type": "list", "tokens": ["a", …], "words": false, "end": -1}
  std::string to_json() const override;
  static TokenList from_json(std::string_view json);

 private:
  std::vector<std::string> tokens_;
  bool words_;
  int32_t end_;
};

}  // namespace pg

#pragma once
// The smallest tokenizer: one token per character (Unicode code point), ids in code point order.
// Tiny Shakespeare has 65 characters: '\n' is 0, ' ' is 1, ... 'z' is 64.
#include <unordered_map>

#include "tasks/tokenizer.h"

namespace pg {

class CharTokenizer : public Tokenizer {
 public:
  // The vocabulary is the distinct characters of `text` (UTF-8, not empty).
  explicit CharTokenizer(std::string_view text);

  // ids in [0, vocab_size()), one per character. Throws Error naming an unknown character and its byte offset.
  std::vector<int32_t> encode(std::string_view text) const override;
  // UTF-8. Throws Error for an id outside the vocabulary.
  std::string decode(std::span<const int32_t> ids) const override;

  int64_t vocab_size() const override { return static_cast<int64_t>(characters_.size()); }
  // Every character of the vocabulary, in id order.
  std::string vocabulary() const;

  // {"type": "char", "characters": "..."}: stored in a checkpoint's metadata.
  std::string to_json() const override;
  static CharTokenizer from_json(std::string_view json);

 private:
  std::u32string characters_;                    // id -> character, ascending
  std::unordered_map<char32_t, int32_t> index_;  // character -> id
};

}  // namespace pg

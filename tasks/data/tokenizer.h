#pragma once
// Text to token ids and back. A checkpoint contains its tokenizer as JSON, so that the model can be used without its
// training data or task.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace pg {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // Ids in [0, vocab_size()). An Error names the text that is not in the vocabulary, and its byte offset.
  virtual std::vector<int32_t> encode(std::string_view text) const = 0;
  // UTF-8. Error for an id outside the vocabulary.
  virtual std::string decode(std::span<const int32_t> ids) const = 0;
  virtual int64_t vocab_size() const = 0;
  // The token that ends a text; -1: there is none.
  virtual int32_t end_id() const { return -1; }
  // {"type": …, …}, the input of tokenizer_from_json (tasks/bpe/tokenizer_files.h).
  virtual std::string to_json() const = 0;

  // The bytes that `id` appends after the token `before` (-1: to an empty text). A byte-level tokenizer has tokens that
  // are a part of a character; StreamDecoder puts them together.
  virtual std::string continuation(int32_t before, int32_t id) const;
};

// Text from tokens while they are generated, in whole characters: the texts of all calls, joined, are the decoded text.
class StreamDecoder {
 public:
  // The first token follows the token `before` (-1: none). `tokenizer` must outlive the decoder.
  explicit StreamDecoder(const Tokenizer& tokenizer, int32_t before = -1) : tokenizer_(tokenizer), before_(before) {}
  // The characters that `id` completes; U+FFFD for bytes that cannot become a character. Error of decode.
  std::string push(int32_t id);
  // At the end: U+FFFD if the text ends within a character, else empty.
  std::string flush();

 private:
  const Tokenizer& tokenizer_;
  int32_t before_;
  std::string pending_;  // the beginning of a character
};

// The smallest tokenizer: one token per character (Unicode code point), ids in code point order.
// Tiny Shakespeare has 65 characters: '\n' is 0, ' ' is 1, ... 'z' is 64.
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

// A tokenizer whose vocabulary is a list of tokens: the digits and signs of a task, or the words of a small language.
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

#pragma once
// Text to token ids and back. A checkpoint contains its tokenizer as JSON, so that the model can be used without its
// training data or task.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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
  // {"type": …, …}, the input of tokenizer_from_json.
  virtual std::string to_json() const = 0;

  // The text that `id` appends after the token `before` (-1: to an empty text): for streaming output.
  std::string continuation(int32_t before, int32_t id) const;
};

// Any tokenizer from its to_json(). Error if it is damaged or of an unknown type.
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json);

}  // namespace pg

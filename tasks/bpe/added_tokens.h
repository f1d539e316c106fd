#pragma once
// The added tokens of a tokenizer.json: texts that become one token wherever they stand, before any splitting.
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tasks/bpe/post_processor.h"
#include "tasks/bpe/regex.h"

namespace pg {

struct AddedToken {
  int32_t id = 0;
  std::string content;       // not empty, UTF-8
  bool single_word = false;  // only where no letter, digit, mark or '_' is beside it
  bool lstrip = false;       // takes the white space before it along
  bool rstrip = false;       // and that after it
  bool normalized = false;   // looked for in the normalized text, else in the text as it is
  bool special = false;      // a control token instead of text
};

// Finds added tokens: at each place the longest one, from left to right, as Hugging Face's tokenizers does.
class AddedTokens {
 public:
  // Takes those of `tokens` whose `normalized` has this value; their contents are normalized too.
  AddedTokens(const std::vector<AddedToken>& tokens, bool normalized, const Normalizer& normalizer);

  struct Part {
    std::string_view text;
    int32_t id;  // of the token; -1: `text` has none
  };
  // The parts of `text`, none of them empty. `skip_special`: special tokens in the text are not looked for.
  std::vector<Part> split(std::string_view text, bool skip_special, RegexScratch& scratch) const;

 private:
  struct Node {
    int32_t token = -1;  // index of the token that ends here
    std::vector<std::pair<uint8_t, uint32_t>> next;
  };
  // The longest token at the beginning of `text`: its index, or -1.
  int32_t longest(std::string_view text, size_t& length) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> trie_{1};
  bool begins_[256] = {};  // some token begins with this byte
};

}  // namespace pg

#pragma once
// The pre-tokenizer of a tokenizer.json: splits a text into pieces, each of which BPE then encodes alone.
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bpe/regex.h"

namespace pg {

// One way to split: at every match of a regular expression.
struct SplitStep {
  Regex regex;
  // The matches and the texts between them are pieces of their own. With `removed` the texts between matches are left
  // out (the type "Removed", inverted).
  bool removed = false;
};

class Pretokenizer {
 public:
  // `json` is the value of "pre_tokenizer": a ByteLevel, or a Sequence of Split and Digits that ends with a ByteLevel.
  // Error naming a type, behavior or field that is not supported.
  explicit Pretokenizer(std::string_view json);

  // Calls piece(context, text) for the pieces of `text` in their order. A maximal run of bytes that belong to no valid
  // UTF-8 character is one piece, and the text before and after it is split as if it were a text of its own. Error of
  // Regex::find.
  using PieceFn = void (*)(void* context, std::string_view piece);
  void split(std::string_view text, RegexScratch& scratch, PieceFn piece, void* context) const;
  template <class F>
  void split(std::string_view text, RegexScratch& scratch, F&& f) const {
    split(
        text, scratch, [](void* context, std::string_view piece) { (*static_cast<F*>(context))(piece); },
        const_cast<void*>(static_cast<const void*>(&f)));
  }

  // A text that does not begin with a space gets one (ByteLevel's add_prefix_space).
  bool adds_space() const { return adds_space_; }
  // Whether a text may be cut at every line_cut (piece_counts.h): the pieces of the two parts, split one by one, are
  // those of the whole. True for split_patterns() and what is made of the same regular expressions.
  bool splits_at_line_cuts() const;
  const std::string& json() const { return json_; }

 private:
  std::string json_;
  std::vector<SplitStep> steps_;
  bool adds_space_ = false;
};

// A pre-tokenizer by name, with the normalizer that the models use it with.
struct SplitPattern {
  std::string name;           // as in --pattern
  std::string gguf;           // tokenizer.ggml.pre of a GGUF; "": none
  std::string about;          // one line
  std::string pre_tokenizer;  // JSON, the argument of Pretokenizer
  std::string normalizer;     // JSON, the argument of Normalizer
};
// gpt2, llama3, qwen2, smollm, cl100k, o200k, default (llama.cpp's, of files without a name).
const std::vector<SplitPattern>& split_patterns();

}  // namespace pg

#pragma once
// Byte-level byte-pair encoding: the tokenizer of GPT-2, Llama 3, Qwen 2 and 3, and SmolLM2. A text is taken apart at
// its added tokens, normalized, split into pieces, and the bytes of each piece are merged. The order of the steps and
// the ids are those of Hugging Face's tokenizers.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bpe/added_tokens.h"
#include "tasks/bpe/post_processor.h"
#include "tasks/data/tokenizer.h"

namespace pg {

// A tokenizer as data, which the readers of files and the trainer fill.
struct BpeData {
  // Token i, written in GPT-2's byte alphabet (byte_level.h); empty: no token has this id.
  std::vector<std::string> tokens;
  // Pairs of ids in the order of their ranks, and what they become.
  struct Merge {
    int32_t left, right, id;
  };
  std::vector<Merge> merges;
  bool rank_is_id = false;        // the rank of a merge is the id that it makes (tiktoken), instead of its place
  bool whole_pieces = false;      // a piece that is a token becomes it without merges ("ignore_merges")
  std::vector<AddedToken> added;  // ids may be those of `tokens` or new ones
  std::string pre_tokenizer;      // JSON, see Pretokenizer
  std::string normalizer = "null";
  PostProcessor post_processor = {};
  int32_t end = -1;  // the token that ends a text; -1: usual_end()
};
// The first of <|endoftext|>, <|end_of_text|>, <|im_end|>, <|eot_id|> and </s> that is an added token; -1: none is.
int32_t usual_end(const std::vector<AddedToken>& added);

struct EncodeOptions {
  bool surround = true;        // put the post-processor's tokens around the text
  bool special_tokens = true;  // special tokens in the text become their ids; else they are text like any other
};

// Any number of threads may use one tokenizer. Copies share its tables.
class BpeTokenizer : public Tokenizer {
 public:
  // Error naming what is wrong: an id or merge outside the vocabulary, a token that is there twice, a pre-tokenizer
  // that is not supported.
  explicit BpeTokenizer(BpeData data);

  // As Hugging Face's encode with its default arguments. `text` may have bytes that are not UTF-8: see
  // Pretokenizer::split. Error naming a byte that the vocabulary has no token for.
  std::vector<int32_t> encode(std::string_view text) const override { return encode(text, {}); }
  std::vector<int32_t> encode(std::string_view text, const EncodeOptions& options) const;
  // encode for each text, on all cores.
  std::vector<std::vector<int32_t>> encode_batch(std::span<const std::string_view> texts,
                                                 const EncodeOptions& options = {}) const;

  // Whether a text may be cut at every line_cut (piece_counts.h): the ids of the two parts, encoded without `surround`,
  // are those of the whole. True for the pre-tokenizers of split_patterns(), unless an added token has a line feed, or
  // takes the white space before it along and does not begin with an ASCII punctuation character.
  bool splits_at_line_cuts() const;

  // The bytes of the tokens. Without a normalizer and without added tokens that take white space along, these are the
  // bytes that were encoded (with EncodeOptions::surround off). Error for an id that no token has.
  std::string decode_bytes(std::span<const int32_t> ids) const;
  // The same with U+FFFD for bytes that are not UTF-8.
  std::string decode(std::span<const int32_t> ids) const override;
  std::string continuation(int32_t before, int32_t id) const override;

  // One more than the largest id.
  int64_t vocab_size() const override;
  int32_t end_id() const override;
  // The id of an added token or of a token of the vocabulary, given as bytes.
  std::optional<int32_t> token_id(std::string_view bytes) const;
  const BpeData& data() const;

  // A whole tokenizer.json, which Hugging Face's tokenizers loads too.
  std::string to_json() const override;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

}  // namespace pg

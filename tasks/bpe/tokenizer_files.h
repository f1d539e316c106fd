#pragma once
// The files that tokenizers are published in or kept in.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tasks/bpe/bpe_tokenizer.h"

namespace pg {

class GgufFile;

// Hugging Face's tokenizer.json. What is not supported is named in the Error: another model than BPE, dropout, prefixes
// and suffixes of words, byte fallback, other normalizers, pre-tokenizers and post-processors. An id that the file
// states for an added token is kept, even where ids are left out. The decoder is not read: bytes are joined. Truncation
// and padding are not read: they are settings of a call that transformers saves, and no part of a text's ids.
BpeTokenizer bpe_from_json(std::string_view text);
// The tokenizer.json of a tokenizer. A token that ends a text, but is not usual_end(), is "ends_text" of the model,
// which others ignore.
std::string json_of(const BpeTokenizer& tokenizer);
// Whether a JSON text looks like a tokenizer.json: it is an object with a key "model".
bool is_tokenizer_json(std::string_view text);

// vocab.json and merges.txt (also named encoder.json and vocab.bpe): the ids of the tokens, and a merge per line after
// one line "#version: …". `pattern` is a row of split_patterns(). The token <|endoftext|>, if it is there, becomes a
// special token. Line ends may be CRLF.
BpeTokenizer bpe_from_vocab(std::string_view vocab, std::string_view merges, std::string_view pattern);

// A .tiktoken file: base64 of the bytes of a token, a space and its rank, which is its id, on each line. `special`:
// special tokens and their ids.
BpeTokenizer bpe_from_tiktoken(std::string_view text, std::string_view pattern,
                               const std::vector<std::pair<std::string, int32_t>>& special = {});

// The tokenizer of a GGUF file whose tokenizer.ggml.model is "gpt2".
struct GgufVocabulary {
  std::vector<std::string> tokens;  // tokenizer.ggml.tokens, in GPT-2's byte alphabet
  std::vector<std::string> merges;  // tokenizer.ggml.merges, "a b"
  std::vector<int32_t> types;       // tokenizer.ggml.token_type: 3 control, 4 user-defined, 5 unused, else text
  std::string pre = "default";      // tokenizer.ggml.pre, a name of split_patterns()
  int32_t bos = -1, eos = -1;       // tokenizer.ggml.bos_token_id and eos_token_id; -1: none
  bool add_bos = false, add_eos = false;
};
BpeTokenizer bpe_from_gguf(const GgufVocabulary& vocabulary);
// Error for a tokenizer of another kind, and for metadata that is missing or has another type.
GgufVocabulary gguf_vocabulary(const GgufFile& file);

// Any tokenizer from its to_json(), or a byte-level BPE tokenizer from Hugging Face's tokenizer.json (it has a
// "model"). Error if it is damaged or of an unknown type.
std::unique_ptr<Tokenizer> tokenizer_from_json(std::string_view json);

// A tokenizer from a path, by its name and content: a file tokenizer.json, *.tiktoken or *.gguf, a file vocab.json (or
// encoder.json) with merges.txt (or vocab.bpe) beside it, or a folder with one of these. `pattern` is needed where the
// file does not state it: for *.tiktoken ("" is an Error that lists the names); for vocab.json "" means gpt2. Error
// with the list of these kinds for anything else.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path, const std::string& pattern = "");

}  // namespace pg

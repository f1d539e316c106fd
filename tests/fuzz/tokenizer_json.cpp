// Fuzz target: a tokenizer.json. A tokenizer that is read encodes a text, decodes its ids, and repeats itself as JSON.
// sources: tasks/bpe/added_tokens.cpp tasks/bpe/bpe_merge.cpp tasks/bpe/bpe_tokenizer.cpp tasks/bpe/byte_level.cpp
// sources: tasks/bpe/piece_counts.cpp tasks/bpe/normalizer.cpp tasks/bpe/post_processor.cpp tasks/bpe/pretokenizer.cpp
// sources: tasks/bpe/regex.cpp tasks/bpe/token_table.cpp tasks/bpe/tokenizer_json.cpp tasks/bpe/vocabulary.cpp
// sources: tasks/data/tokenizer.cpp tasks/data/utf8.cpp tensor/base/fields.cpp tensor/base/cores.cpp
// sources: tensor/base/parallel.cpp tensor/base/text.cpp tensor/base/json.cpp
// sources: tensor/base/json_text.cpp
// libraries: pcre2-8 utf8proc
// seed: {"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},"pre_tokenizer":{"type":"ByteLevel"}}
// seed: {"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a"]]},"added_tokens":[{"id":1,"content":"<s>"}]}
#include <span>

#include "tasks/bpe/tokenizer_files.h"
#include "tensor/base/error.h"

using namespace pg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const BpeTokenizer tokenizer = bpe_from_json(text);
    const std::string json = json_of(tokenizer);
    if (json_of(bpe_from_json(json)) != json) __builtin_trap();
    const std::vector<int32_t> ids = tokenizer.encode("ab <s> 12 a\n\xc3\xa9 \xff");
    if (bpe_from_json(json).encode("ab <s> 12 a\n\xc3\xa9 \xff") != ids) __builtin_trap();
    tokenizer.decode(ids);
  } catch (const Error&) {
  }
  return 0;
}

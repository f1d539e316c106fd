#pragma once
// A tokenizer for tests of chat models.
#include <initializer_list>
#include <memory>

#include "tasks/bpe/byte_level.h"
#include "tasks/bpe/tokenizer_files.h"

namespace pg::testing {

// A token for each byte, whose id is the byte, and the special tokens from 256 on. Token `end` ends a text; with -1
// none does. The defaults are those of ChatML.
inline BpeTokenizer byte_tokenizer(std::initializer_list<const char*> specials = {"<|im_start|>", "<|im_end|>"},
                                   int32_t end = 257) {
  GgufVocabulary v;
  for (int byte = 0; byte < 256; ++byte) v.tokens.push_back(byte_symbol(static_cast<uint8_t>(byte)));
  v.types.assign(256, 1);
  for (const char* special : specials) v.tokens.push_back(special), v.types.push_back(3);
  v.eos = end;
  return bpe_from_gguf(v);
}
inline std::shared_ptr<const BpeTokenizer> shared_byte_tokenizer() {
  return std::make_shared<const BpeTokenizer>(byte_tokenizer());
}

}  // namespace pg::testing

#pragma once
// A language of twenty words and a full stop whose sentences can be checked, for policies that write:
//   sentence = noun-phrase (sleeps-word | sees-word noun-phrase) adverb? "."     noun-phrase = the|a adjective{0,2}
//   noun
// Small enough to learn in seconds, strict enough that nonsense is seen at once.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tasks/tokenizer.h"
#include "tensor/base/random.h"

namespace pg {

// id → word. Id 0 is ".", which ends a sentence and stands before the first one.
const std::vector<std::string>& tiny_words();
int32_t tiny_word(const std::string& word);  // Error for a word outside the language

// A random sentence with its ".", 4 to 11 ids; all alternatives equally likely.
std::vector<int32_t> tiny_sentence(Generator& g);
// Whether the ids are exactly one sentence, its "." included.
bool is_tiny_sentence(std::span<const int32_t> ids);
// The words as a vocabulary; "." ends a text. "the old cat sleeps."
const Tokenizer& tiny_tokenizer();
std::string tiny_text(std::span<const int32_t> ids);

}  // namespace pg

#pragma once
// A language of twenty words and a full stop whose sentences can be checked, for policies that write:
//   sentence = noun-phrase (sleeps-word | sees-word noun-phrase) adverb? "."
//   noun-phrase = the|a adjective{0,2} noun
// It is small enough to learn in seconds, and strict enough that nonsense is easy to see.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tasks/data/tokenizer.h"
#include "tensor/base/random.h"

namespace pg {

// id → word. Id 0 is ".", which ends a sentence and is also the token before the first sentence.
const std::vector<std::string>& tiny_words();
int32_t tiny_word(const std::string& word);  // Error for a word outside the language

// A random sentence with its ".", 4 to 11 ids; at each choice all alternatives are equally likely.
std::vector<int32_t> tiny_sentence(Generator& g);
// Whether the ids are exactly one sentence, its "." included.
bool is_tiny_sentence(std::span<const int32_t> ids);
// A tokenizer with these words as vocabulary; "." ends a text. Example: "the old cat sleeps."
const Tokenizer& tiny_tokenizer();
std::string tiny_text(std::span<const int32_t> ids);

}  // namespace pg

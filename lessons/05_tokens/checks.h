#pragma once
// The checks of lesson 5 by part, known mistakes, and what the checks share.
#include "lessons/05_tokens/lesson.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson05 {
using Known = kit::KnownText;
using kit::same_text;

// checks_train.cpp: the training of a tokenizer.
void check_best_pair(kit::Grader& g, const Impl& impl);
void check_merge_pair(kit::Grader& g, const Impl& impl);
// checks_split.cpp: pieces of a text.
void check_split(kit::Grader& g, const Impl& impl);
// checks_encode.cpp: the tokens of a piece.
void check_encode_piece(kit::Grader& g, const Impl& impl);
// checks_weights.cpp
void check_load_weights(kit::Grader& g, const Impl& impl);
// mistakes.cpp
kit::Mistakes<&Impl::bits_per_byte> bits_mistakes();

// The most frequent pair of these words, the smallest of several. The check and the demonstration compare it with
// train_bpe, whose counting cannot be called by itself.
PairCount count_pairs(const std::vector<Word>& words);

// The ids of the bytes in the tokenizers that train_bpe makes, which are GPT-2's.
const ByteIds& gpt2_byte_ids();

// "9 3 9"
std::string text_of(const std::vector<int32_t>& ids);
// Bytes for a person to read: a space as _, what is not printable ASCII, and _, as \n or \xff.
std::string readable(std::string_view bytes);
inline const std::string kKept = "something is kept between calls: the same call gives another result the second time";

}  // namespace pg::lesson05

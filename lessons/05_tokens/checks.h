#pragma once
// The checks of lesson 5 by part.
#include "lessons/05_tokens/lesson.h"

namespace pg::lesson05 {

// checks_text.cpp: pieces and their tokens.
void check_split(kit::Grader& g, const Impl& impl);
void check_encode_piece(kit::Grader& g, const Impl& impl);
// checks_weights.cpp
void check_load_weights(kit::Grader& g, const Impl& impl);

// The ids of the bytes in the tokenizers that train_bpe makes, which are GPT-2's.
const ByteIds& gpt2_byte_ids();
kit::Value value_of(const std::vector<int32_t>& ids);

}  // namespace pg::lesson05

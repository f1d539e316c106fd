#pragma once
// The demonstration of lesson 5: what its parts share.
#include "lessons/05_tokens/lesson.h"
#include "tasks/bpe/bpe_tokenizer.h"

namespace pg::lesson05 {

// The built-in stories, cut at the end of a story: nine tenths to learn from, the rest to measure.
struct Stories {
  std::string text;
  size_t cut;
  std::string_view train() const { return std::string_view(text).substr(0, cut); }
  std::string_view val() const { return std::string_view(text).substr(cut); }
};

// A vocabulary: the bytes, then a token for each merge.
struct Vocabulary {
  ByteIds byte_ids{};
  std::vector<std::string> tokens;     // the bytes of each
  std::vector<BpeData::Merge> merges;  // in the order of their ranks

  // The first `count` merges by pair.
  MergeTable table(size_t count) const;
};

// The ids of a text. A piece that comes again is not encoded again.
std::vector<int32_t> encode(const Impl& impl, std::string_view text, const ByteIds& byte_ids, const MergeTable& merges,
                            std::string_view special = "");
std::string decode(const std::vector<int32_t>& ids, const std::vector<std::string>& tokens);
// "The|_little|_cat"
std::string shown(const std::vector<int32_t>& ids, const std::vector<std::string>& tokens);

// The parts. merges.cpp:
Vocabulary show_merges(kit::Demo& demo, const Impl& impl, std::string_view text);
// models.cpp: the result is the model that reads tokens, and the loss of a model on the validation text.
struct TokenModel {
  Transformer model;
  std::vector<int32_t> val;
  std::vector<std::string> tokens;
};
TokenModel show_models(kit::Demo& demo, const Impl& impl, const Stories& stories, const Vocabulary& vocabulary);
double bits_of(const Impl& impl, const TokenModel& text, Transformer& model);
// race.cpp
void show_race(kit::Demo& demo, const Impl& impl, std::string_view text, const Vocabulary& vocabulary);
void show_round_trip(kit::Demo& demo, const Impl& impl, const Vocabulary& vocabulary);
// weights.cpp
void show_import(kit::Demo& demo, const Impl& impl, TokenModel& trained);
void show_gpt2_tokens(kit::Demo& demo, const Impl& impl);
void show_pretrained(kit::Demo& demo);

}  // namespace pg::lesson05

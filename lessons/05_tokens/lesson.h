#pragma once
// Lesson 5: the functions that you write, and what they work on.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "nn/files/tensor_source.h"
#include "nn/transformer.h"
#include "tasks/bpe/bpe_merge.h"

namespace pg::lesson05 {

// A piece of the text that occurs `count` times, as the ids of its symbols.
struct Word {
  std::vector<int32_t> ids;
  int64_t count = 0;
};
// A pair of neighbours and how often it occurs; count 0: there is no pair.
struct PairCount {
  int32_t left = -1, right = -1;
  int64_t count = 0;
};
// The id of each byte. GPT-2 gives the ids 0 to 255 to the bytes in another order than their values.
using ByteIds = std::array<int32_t, 256>;

PairCount best_pair(const std::vector<Word>& words);
std::vector<int32_t> merge_pair(const std::vector<int32_t>& ids, int32_t left, int32_t right, int32_t id);
std::vector<std::string_view> split(std::string_view text, std::string_view special);
std::vector<int32_t> encode_piece(std::string_view piece, const ByteIds& byte_ids, const MergeTable& merges);
void load_weights(Transformer& model, const TensorSource& source);
double bits_per_byte(const std::vector<double>& nats, const std::vector<int32_t>& ids,
                     const std::vector<std::string>& tokens);

struct Impl {  // yours by default
  decltype(&lesson05::best_pair) best_pair = lesson05::best_pair;
  decltype(&lesson05::merge_pair) merge_pair = lesson05::merge_pair;
  decltype(&lesson05::split) split = lesson05::split;
  decltype(&lesson05::encode_piece) encode_piece = lesson05::encode_piece;
  decltype(&lesson05::load_weights) load_weights = lesson05::load_weights;
  decltype(&lesson05::bits_per_byte) bits_per_byte = lesson05::bits_per_byte;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson05

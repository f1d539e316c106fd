#pragma once
// Training of byte-level BPE: which merges a text makes (Sennrich et al., 2016).
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/bpe/bpe_tokenizer.h"

namespace pg {

struct BpeTrainOptions {
  int64_t vocab_size = 32768;             // special tokens, 256 bytes and the merges
  std::vector<std::string> special = {};  // special tokens: the ids from 0 on; the texts are taken apart at them
  std::string pattern = "gpt2";           // a row of split_patterns()
  int64_t min_frequency = 0;              // pairs that occur less often are not merged
  std::function<void(int64_t, int64_t)> progress = {};  // called with (tokens so far, vocab_size)
};

// A tokenizer with at most vocab_size tokens; fewer if no pair is left. Repeatedly, the most frequent pair of
// neighbouring tokens within pieces becomes a token. Among equally frequent pairs the one with the smaller ids is
// taken, first by the left id, then by the right one, as Hugging Face's BpeTrainer does; so the vocabulary is that of
// BpeTrainer with initial_alphabet=ByteLevel.alphabet(), for a text given as one string. (CS336 takes the pair whose
// bytes are greater instead.) The result does not depend on the number of threads. Error for options out of range and
// for a text without pieces.
BpeTokenizer train_bpe(std::span<const std::string_view> texts, const BpeTrainOptions& options);

}  // namespace pg

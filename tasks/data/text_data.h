#pragma once
// Text for language models: a file, its train/validation split, and batches of windows.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tasks/data/tokenizer.h"
#include "tensor/base/random.h"

namespace pg {

// The whole file. Throws Error naming the path and the reason.
std::string read_file(const std::string& path);

// `text` without a leading byte order mark and with LF for each CRLF, so that a model does not learn these Windows
// conventions. If anything was changed, `note` becomes one sentence that says so and begins with `name`.
std::string unix_text(std::string text, const std::string& name, std::string& note);

// Windows of a token stream and the token that follows each position, the input of nn::Transformer.
struct Windows {
  int64_t rows = 0;        // B
  int64_t length = 0;      // T
  std::vector<int32_t> x;  // [B, T] row-major
  std::vector<int32_t> y;  // [B, T], y[b, t] follows x[b, t] in the text
};

struct TextData {
  std::vector<int32_t> train, val;
};

// The first 90 % of the tokens (train_share) are for training, the rest for validation (nanoGPT's split).
TextData split_text(std::vector<int32_t> tokens, double train_share = 0.9);

// B windows of length T at independent uniform starts. All randomness comes from `g`: its state before the call is the
// data cursor, and restoring it repeats the batch. Throws Error if the text is not longer than T.
Windows random_batch(std::span<const int32_t> tokens, int64_t rows, int64_t length, Generator& g);

// Number of non-overlapping windows of length T, each with a following token for every position.
int64_t window_count(std::span<const int32_t> tokens, int64_t length);
// Windows [first, first + rows). A pass over all windows reads each once and gives an exact validation loss.
Windows window_batch(std::span<const int32_t> tokens, int64_t first, int64_t rows, int64_t length);

}  // namespace pg

#pragma once
// Text out of a model: many rows at once, each with its own length, random stream and end.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "nn/gpt2.h"
#include "tensor/sample.h"

namespace pg {

struct GenerateOptions {
  int64_t max_new_tokens = 100;  // per row, those of `respond` not counted
  int64_t samples = 1;           // rows per prompt, which is read once: rows i·samples … belong to prompt i
  int64_t max_rows = 0;          // rows at a time, at least `samples`: finished ones make room. 0: all at once
  bool greedy = false;           // the most probable token (the first of equals) instead of a draw
  SampleOptions sampling = {};
  std::vector<int32_t> stop_ids = {};  // a row ends with the first of these it produces
  uint64_t seed = 0;                   // row i draws from random_stream(seed, first_row + i), one word per token
  uint64_t first_row = 0;              // so that a job split into several calls gives the same rows
  bool kv_cache = true;                // false computes every position anew for every token: slower, the same bits
  // Past block_size: false ends the row; true goes on from the last block_size tokens, computed anew for every token.
  bool slide = false;
  // log_probs are those of softmax(logits / temperature), from which an unfiltered draw comes.
  bool tempered = false;
  std::function<void(int64_t row, int32_t token)> on_token = {};  // called as tokens come, if set
  // Asked after each token, with all new ones of the row: true stops the row, as a stop id does.
  std::function<bool(int64_t row, std::span<const int32_t> tokens)> stop = {};
  // What the world answers a row that stopped: ids to be read before it goes on. Nothing, or too much for block_size:
  // the row ends. Not with `slide`.
  std::function<std::vector<int32_t>(int64_t row, std::span<const int32_t> tokens)> respond = {};
};

enum class FinishReason : uint8_t { length, stop };  // no room or max_new_tokens; a stop id or `stop`

struct Generated {
  std::vector<int32_t> tokens;  // the new ones, the stop id included
  // log softmax(logits)[token] of each, without temperature (but see `tempered`) and filters: bit for bit what
  // token_log_prob gives for the training forward pass over the finished sequence (while it fits in block_size),
  // whatever the other rows are. 0 for tokens of `respond`.
  std::vector<double> log_probs;
  std::vector<uint8_t> chosen;  // 1: by the model, 0: by `respond`
  FinishReason finish = FinishReason::length;
};

// Continues each prompt (at least one token, at most block_size). Result i belongs to prompt i / samples.
std::vector<Generated> generate(Gpt2& model, const std::vector<std::vector<int32_t>>& prompts,
                                const GenerateOptions& options);

}  // namespace pg

#pragma once
// Text generation: many rows at once, each with its own length, random stream and end.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "nn/transformer.h"
#include "tensor/sample.h"

namespace pg {

// What a generation computed with the cache of keys and values.
struct GenerateStats {
  int64_t prompt_tokens = 0;               // read: prompts once for all their rows, and what `respond` answered
  std::vector<int64_t> rows_of_pass = {};  // rows of each pass over the model for one token per row
  // Passes while rows waited for a slot, and their rows as a share of the slots: 1 if every slot was in use.
  int64_t crowded_passes = 0;
  double slots_busy = 1;
};

struct GenerateOptions {
  int64_t max_new_tokens = 100;  // per row, tokens from `respond` not counted
  int64_t samples = 1;  // rows per prompt, which is read once: rows i·samples … (i + 1)·samples - 1 belong to prompt i
  int64_t max_rows = 0;  // maximum rows at a time; a finished row's slot is taken by the next. 0: all at once
  bool greedy = false;   // the most probable token (the first if several are equal) instead of a sample
  SampleOptions sampling = {};
  std::vector<int32_t> stop_ids = {};  // a row ends with the first of these that it produces
  uint64_t seed = 0;                   // row i uses random_stream(seed, first_row + i), one random number per token
  uint64_t first_row = 0;              // a job split into several calls gives the same rows as one call
  bool kv_cache = true;  // false recomputes every position for every token: slower, with bit-identical results
  // At block_size: false ends the row; true continues from the last block_size tokens, which are recomputed for every
  // token.
  bool slide = false;
  // log_probs are those of softmax(logits / temperature), the distribution of an unfiltered sample.
  bool log_prob_at_temperature = false;
  std::function<void(int64_t row, int32_t token)> on_token = {};  // if set, called for each token as it arrives
  // Called after each token with all new tokens of the row: true stops the row, as a stop id does.
  std::function<bool(int64_t row, std::span<const int32_t> tokens)> stop = {};
  // The environment's answer to a row that stopped: ids that the model reads before the row goes on. The row ends if
  // the answer is empty or does not fit in block_size. Cannot be combined with `slide`.
  std::function<std::vector<int32_t>(int64_t row, std::span<const int32_t> tokens)> respond = {};
  // If set, asked before each pass over the model: after true no more tokens come, and all rows stay as they are.
  std::function<bool()> should_stop = {};
  GenerateStats* stats = nullptr;  // if set, written at the end
};

enum class FinishReason : uint8_t { length, stop };  // length: no room or max_new_tokens; stop: a stop id or `stop`

struct Generated {
  std::vector<int32_t> tokens;  // the new tokens, the stop id included
  // log softmax(logits)[token] of each token, without temperature (but see `log_prob_at_temperature`) and filters:
  // bit-identical to what token_log_prob gives for the training forward pass over the finished sequence (while it fits
  // in block_size), whatever the other rows are. 0 for tokens of `respond`.
  std::vector<double> log_probs;
  std::vector<uint8_t> action_mask;  // 1: sampled by the model, 0: from `respond`
  FinishReason finish = FinishReason::length;
};

class KeptDecoders;

// Generates with a model, which must outlive it. On a CUDA device it keeps the decoders of its last two kinds of calls,
// with caches and graphs: a later call with as many rows, or nearly, records and allocates nothing. It belongs to one
// thread.
class Sampler {
 public:
  explicit Sampler(Transformer& model);
  ~Sampler();
  // Continues each prompt (at least one token, at most block_size). Result i belongs to prompt i / samples. Error if
  // the model is not causal.
  std::vector<Generated> generate(const std::vector<std::vector<int32_t>>& prompts, const GenerateOptions& options);
  // Frees what is kept, as happens when the device is full.
  void release();

 private:
  Transformer& model_;
  std::unique_ptr<KeptDecoders> kept_;
};

// One call of a Sampler.
std::vector<Generated> generate(Transformer& model, const std::vector<std::vector<int32_t>>& prompts,
                                const GenerateOptions& options);

}  // namespace pg

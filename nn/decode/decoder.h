#pragma once
// Decoding token by token with a KV cache. The sampled tokens stay on the model's device, where the next pass reads
// them; the host receives them later through asynchronous copies. On a GPU a pass is recorded as a graph and launched
// as a whole.
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "nn/decode/kv_cache.h"
#include "nn/transformer.h"
#include "tensor/backend.h"
#include "tensor/sample.h"

namespace pg {

struct DecodingOptions {
  bool greedy = false;  // the most probable token (the first if several are equal) instead of a sample
  SampleOptions sampling;
  bool log_prob_at_temperature = false;  // log-probabilities at the sampling temperature instead of at 1

  bool operator==(const DecodingOptions&) const = default;
};
// Selects one token for each row of logits [R, V]; u f64 [R] in [0, 1) are the uniform random numbers for sampling.
// Writes ids i32 [R] and log_probs [R], log softmax(logits)[id] without filters; NaN where the logits are not finite.
void choose_tokens(Tensor logits, DecodingOptions options, const Tensor& u, const Tensor& ids, const Tensor& log_probs);

class Decoder {
 public:
  // For up to `rows` sequences of `room` positions, and with `holds` one more place for hold(). The model must outlive
  // it.
  Decoder(const Transformer& model, int64_t rows, int64_t room, const DecodingOptions& options, bool holds = false);

  // Reads prompts of equal length, each into `copies` rows from row `first` on (the rows' old content is lost), and
  // samples the next token of each row with the uniform numbers u.
  void prefill(int64_t first, std::span<const std::span<const int32_t>> prompts, int64_t copies,
               std::span<const double> u);
  // Reads a prompt and keeps it for start_held(), until the next hold().
  void hold(std::span<const int32_t> prompt);
  // Gives the rows from `first` on the held prompt, and samples the next token of each with the uniform numbers u.
  void start_held(int64_t first, std::span<const double> u);
  // Reads more tokens of one row and samples the next token with u. `tokens` begins with the row's last sampled token
  // unless that was read already.
  void extend(int64_t row, std::span<const int32_t> tokens, double u);
  // Forgets what a row has read after its first `length` positions; extend() reads on from there.
  void rewind(int64_t row, int64_t length);
  int64_t length(int64_t row) const { return cache_.lengths.data<const int32_t>()[row]; }  // positions read so far
  // Samples the next token of the rows [0, u.size()).
  void next(std::span<const double> u);

  struct Choices {
    std::vector<int32_t> tokens;
    std::vector<double> log_probs;
  };
  // The result of the oldest prefill() or next() that has not been taken; waits for it.
  Choices take();
  bool all_taken() const { return in_flight_.empty() && arrived_.empty(); }

  // Moves row `from` to row `to`.
  void move_row(int64_t from, int64_t to) const;

 private:
  struct PendingCopy {  // results that are being copied to the host
    std::unique_ptr<AsyncCopy> copy;
    size_t tokens_at = 0;  // the first byte of the tokens; the log-probabilities are in front
    int64_t count = 0;
  };
  struct Pass {  // for one row count
    bool ran = false;
    std::unique_ptr<Graph> graph;
  };

  bool on_host() const { return ids_.device().on_host(); }
  void compute(int64_t rows) const;
  void choose(const Tensor& logits, int64_t first, int64_t rows) const;
  void send(int64_t first, int64_t rows);

  const Transformer& model_;
  const DecodingOptions options_;
  const int64_t rows_;
  KvCache cache_;       // of the rows, then of the held prompt
  Tensor held_logits_;  // [1, V]
  Tensor results_;      // the memory of the next two, which one copy brings to the host
  Tensor log_probs_;    // [rows]
  Tensor ids_;          // i32 [rows]: the last token of each row
  // f64 [2 · rows], which one copy brings to the device: f64 [n] random numbers, then, in a pass of n rows, i32 [n] and
  // i32 [n] positions of the cache in use before and after it.
  Tensor inputs_;
  std::map<int64_t, Pass> passes_;
  std::vector<std::unique_ptr<PendingCopy>> spare_;
  std::deque<std::unique_ptr<PendingCopy>> in_flight_;
  std::deque<Choices> arrived_;  // results on the CPU, where no copy is needed
};

}  // namespace pg

#pragma once
// Token after token from a model with a KV cache. Choices stay on the model's device, where the next pass finds them;
// the host hears of them later. On a GPU a pass is recorded and launched as a whole.
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "nn/gpt2.h"
#include "tensor/backend.h"
#include "tensor/sample.h"

namespace pg {

struct Choosing {
  bool greedy = false;  // the most probable token (the first of equals) instead of a draw
  SampleOptions sampling;
  bool tempered = false;  // log-probabilities at the sampling temperature instead of at 1
};
// A token for each row of logits [R, V], drawn by u f64 [R] in [0, 1). Writes ids i32 [R] and log_probs [R],
// log softmax(logits)[id], without filters: NaN where the logits are not finite.
void choose_tokens(Tensor logits, Choosing how, const Tensor& u, const Tensor& ids, const Tensor& log_probs);

class Decoder {
 public:
  // For up to `rows` sequences of `room` positions. The model must outlive it.
  Decoder(const Gpt2& model, int64_t rows, int64_t room, const Choosing& how);

  // Reads prompts of one length, each into `copies` rows of its own from `first` on (their old content is gone), and
  // chooses the token that follows in each row, by u.
  void prefill(int64_t first, std::span<const std::span<const int32_t>> prompts, int64_t copies,
               std::span<const double> u);
  // Reads more tokens of one row, beginning with what it chose last unless that was read, and chooses the next by u.
  void extend(int64_t row, std::span<const int32_t> tokens, double u);
  int64_t length(int64_t row) const { return cache_.lengths.data<const int32_t>()[row]; }  // positions read
  // Chooses the next token of the rows [0, u.size()).
  void next(std::span<const double> u);

  struct Choices {
    std::vector<int32_t> tokens;
    std::vector<double> log_probs;
  };
  // What the oldest prefill() or next() chose that has not been taken; waits for it.
  Choices take();

  // Row `from` takes the place of row `to`.
  void move_row(int64_t from, int64_t to) const;

 private:
  struct Flight {  // on their way to the host
    Flight(const Backend& from, size_t rows)
        : tokens(from.async_copy(rows * 4)), log_probs(from.async_copy(rows * 8)) {}
    std::unique_ptr<AsyncCopy> tokens, log_probs;
    int64_t count = 0;
  };
  struct Pass {  // of one number of rows
    bool ran = false;
    std::unique_ptr<Graph> graph;
  };

  bool on_host() const { return ids_.device().on_host(); }
  void compute(int64_t rows) const;
  void choose(const Tensor& logits, int64_t first, int64_t rows) const;
  void send(int64_t first, int64_t rows);

  const Gpt2& model_;
  const Choosing how_;
  KvCache cache_;
  Tensor ids_;             // i32 [rows]: the last token of each
  Tensor log_probs_;       // [rows]
  Tensor u_;               // f64 [rows]
  Tensor before_, after_;  // i32 [rows]: positions in the cache
  std::map<int64_t, Pass> passes_;
  std::vector<std::unique_ptr<Flight>> spare_;
  std::deque<std::unique_ptr<Flight>> flights_;
  std::deque<Choices> arrived_;  // on the CPU there is no way to go
};

}  // namespace pg

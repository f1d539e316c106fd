#pragma once
// Models for reinforcement learning on text other than the policy itself: token scoring, and models with a scalar
// output.
#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "nn/transformer.h"
#include "rl/methods/batch.h"

namespace pg::rl {

class Reference;

// Logits divided by the temperature.
Tensor at_temperature(const Tensor& logits, double temperature);
// Rows of logits held in memory at a time: at most 2^25 values in total, but at least one row.
int64_t logit_rows(int64_t vocab_size);
// Logits [end - begin, V] at the indices begin … end - 1 of TokenRows::indices, divided by the temperature.
using LogitsAt = std::function<Tensor(int64_t begin, int64_t end)>;
// The LogitsAt of a model. Computes the hidden states now and the head at each call, without gradient; the model
// must outlive it.
LogitsAt logits_at(const Transformer& model, const TokenRows& rows, double temperature);

// Calls f(begin, end) for chunks of at most `size` of 0 … count.
template <class F>
void in_chunks(int64_t count, int64_t size, F f) {
  for (int64_t begin = 0; begin < count; begin += size) f(begin, std::min(count, begin + size));
}

// The largest |sum of the probabilities - 1| over rows 0 … count - 1 of the logits, of which at most `most_rows` are in
// memory at a time; NaN if a sum is. The host waits for the device once.
double probability_sum_error(const LogitsAt& logits, int64_t count, int64_t most_rows);

struct TokenScores {
  Tensor log_prob, entropy;  // [B, T], 0 where the mask is 0; at the temperature; f32 for a bf16 policy
  Tensor full_kl;            // [B, T] likewise, if there is a reference: KL(π ‖ reference) over the vocabulary
};
// log π(target) of a policy where the mask is 1; only these positions go through the head. Differentiable. More rows
// than logit_rows() go through the head in chunks, and backward recomputes the logits of each chunk: the logits [M, V]
// are never in memory as a whole. The policy and the reference must outlive the tape.
TokenScores score_tokens(const Transformer& policy, const TokenRows& rows, double temperature = 1,
                         const Reference* full_kl_to = nullptr);
// score_tokens() from policy.hidden(rows.packed), for callers that also use the hidden states. `most_rows`: of a chunk,
// 0 for logit_rows().
TokenScores score_hidden(const Transformer& policy, const Tensor& hidden, const TokenRows& rows, double temperature = 1,
                         const Reference* full_kl_to = nullptr, int64_t most_rows = 0);
// values [M] at TokenRows::indices → [B, T], 0 elsewhere. Differentiable.
Tensor spread(const Tensor& values, const TokenRows& rows);

// Throws Error naming `what` and its first parameter that contains NaN or infinity.
void check_finite(const Module& model, std::string_view what);

// One scalar per position: hidden states [B, T, C] through a head [1, C] → [B, T]; f32 for bf16.
Tensor scalar_at_positions(const Linear& head, const Tensor& hidden);

// A GPT-2 whose head gives one scalar per position: a critic, whose output is the value after reading ids[0 … t], or a
// reward model, whose output at the last token is the score of the whole sequence.
struct ScalarModel : Module {
  Transformer trunk;
  Linear head;  // [1, C], bias 0

  // A copy of `model` with a new head N(0, head_std): 0 for a critic, 1/√(C + 1) for a reward model (Stiennon et al.
  // 2020, arXiv:2009.01325).
  ScalarModel(Transformer& model, double head_std, Generator& generator);
  Tensor operator()(const Tensor& ids) const;  // i32 [B, T] → [B, T]
  Tensor operator()(const PackedBatch& rows) const;
  void visit(Visitor& visitor) override;
};

}  // namespace pg::rl

#pragma once
// The models of reinforcement learning on language beside the policy: what scores tokens, what is compared with, what
// predicts a number.
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "nn/gpt2.h"
#include "rl/text/experience.h"

namespace pg::rl {

class Reference;

// How many rows of logits are in memory at a time: at most 2^22 numbers, but at least one row.
int64_t logit_rows(int64_t vocab_size);
// Logits [end - begin, V] at the mask's places begin … end - 1 (TokenRows::places), divided by the temperature.
using PlaceLogits = std::function<Tensor(int64_t begin, int64_t end)>;
// The model's. Computes the hidden states now and the head at each call, without the tape; the model must outlive it.
PlaceLogits place_logits(const Gpt2& model, const TokenRows& rows, double temperature);

struct TokenScores {
  Tensor log_prob, entropy;  // [B, T], 0 where the mask is 0; at the temperature; f32 for a bf16 policy
  Tensor full_kl;            // [B, T] likewise, if there is a reference: KL(π ‖ reference) over the vocabulary
};
// log π(target) of a policy at the places of the mask; only these see the head. Differentiable. More rows than
// logit_rows() go through the head in pieces, and backward computes the logits of a piece again: [M, V] logits are
// never in memory. The policy and the reference must outlive the tape.
TokenScores score_tokens(const Gpt2& policy, const TokenRows& rows, double temperature = 1,
                         const Reference* full_kl_to = nullptr);
// The same from policy.hidden(rows.packed), which something else may want too.
TokenScores score_hidden(const Gpt2& policy, const Tensor& hidden, const TokenRows& rows, double temperature = 1,
                         const Reference* full_kl_to = nullptr);
// values [M] at the places of the mask → [B, T], 0 elsewhere. Differentiable.
Tensor spread(const Tensor& values, const TokenRows& rows);

// What the policy is held near to.
class Reference {
 public:
  virtual ~Reference() = default;
  virtual PlaceLogits logits(const TokenRows& rows, double temperature) const = 0;  // without gradient
  Tensor log_prob(const TokenRows& rows, double temperature) const;                 // [B, T], 0 where the mask is 0
};

// A copy of a model: frozen, moving if follow() is called, random if given one that has learned nothing.
class ModelReference final : public Reference {
 public:
  explicit ModelReference(Gpt2& model);
  PlaceLogits logits(const TokenRows& rows, double temperature) const override;
  void follow(Gpt2& model);  // takes its weights
  Gpt2& model() { return *model_; }
  const Gpt2& model() const { return *model_; }

 private:
  std::unique_ptr<Gpt2> model_;
};

// P(j | i) = (count of j after i, plus one) / (count of i before anything, plus V), from a text.
class BigramReference final : public Reference {
 public:
  BigramReference(std::span<const int32_t> text, int64_t vocab_size);
  PlaceLogits logits(const TokenRows& rows, double temperature) const override;
  Tensor log_probs() const { return table_; }  // [V, V]: of what follows, row by row

 private:
  Tensor table_;
};

// Error naming `what` and its first parameter that holds NaN or infinity.
void check_finite(const Module& model, std::string_view what);

// One number for each position: hidden states [B, T, C] under a head [1, C] → [B, T], in f32 for bf16.
Tensor scalar_at_positions(const Linear& head, const Tensor& hidden);

// A GPT-2 whose head gives one number for each position: a critic, whose number is the value of having read ids[0 … t],
// or a reward model, whose number at the last token is the score of the whole.
struct ScalarModel : Module {
  Gpt2 trunk;
  Linear head;  // [1, C], bias 0

  // A copy of `model` with a new head N(0, head_std): 0 for a critic, 1/√(C + 1) for a reward model (Stiennon et al.
  // 2020, arXiv:2009.01325).
  ScalarModel(Gpt2& model, double head_std, Generator& generator);
  Tensor operator()(const Tensor& ids) const;  // i32 [B, T] → [B, T]
  Tensor operator()(const PackedRows& rows) const;
  void visit(Visitor& visitor) override;
};

}  // namespace pg::rl

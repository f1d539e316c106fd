#pragma once
// Lesson 8: the functions that you write, with the engine's own names.
#include "lessons/kit/lesson.h"
#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "rl/methods/other_losses.h"
#include "rl/text/experience.h"

namespace pg::lesson08 {

using rl::DpoLoss;
using rl::DpoOptions;
using rl::Response;

// A response with its numbers, one for each of its tokens. The log-probabilities are those of the policy that drew the
// tokens, and of the reference.
struct ScoredResponse : Response {
  std::vector<double> old_log_probs, ref_log_probs, rewards;
};

TokenBatch sft_batch(std::span<const Problem> problems);
Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring);
void set_rewards(ScoredResponse& response);
void subtract_kl(ScoredResponse& response, double beta);
Tensor sequence_log_probs(const Transformer& policy, std::span<const Response* const> responses);
DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& options);

struct Impl {
  TokenBatch (*sft_batch)(std::span<const Problem>);
  Tensor (*bradley_terry_loss)(const Tensor&, const Tensor&, const Tensor&, double);
  void (*set_rewards)(ScoredResponse&);
  void (*subtract_kl)(ScoredResponse&, double);
  Tensor (*sequence_log_probs)(const Transformer&, std::span<const Response* const>);
  DpoLoss (*dpo_loss)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const DpoOptions&);
};
Impl reference();
Impl learner();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson08

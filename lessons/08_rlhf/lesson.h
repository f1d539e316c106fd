#pragma once
// Lesson 8: the functions that you write, with the engine's own names.
#include "lessons/kit/lesson.h"
#include "nn/train/trainer.h"
#include "nn/transformer.h"
#include "rl/methods/other_losses.h"
#include "rl/text/experience.h"

namespace pg::lesson08 {

using rl::DpoLoss, rl::DpoOptions, rl::Response;

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

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson08::sft_batch)* sft_batch = lesson08::sft_batch;
  decltype(lesson08::bradley_terry_loss)* bradley_terry_loss = lesson08::bradley_terry_loss;
  decltype(lesson08::set_rewards)* set_rewards = lesson08::set_rewards;
  decltype(lesson08::subtract_kl)* subtract_kl = lesson08::subtract_kl;
  decltype(lesson08::sequence_log_probs)* sequence_log_probs = lesson08::sequence_log_probs;
  decltype(lesson08::dpo_loss)* dpo_loss = lesson08::dpo_loss;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson08

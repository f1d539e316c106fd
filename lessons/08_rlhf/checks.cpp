// The checks of lesson 8.
#include "lessons/08_rlhf/checks.h"

#include "rl/text/imitation.h"
#include "rl/text/preferences.h"

namespace pg::lesson08 {

std::vector<kit::Check<Impl>> checks() {
  return {
      {.id = "08.1",
       .title = "the response mask",
       .piece = kit::piece<&Impl::sft_batch>("sft_batch"),
       .section = "Which tokens count",
       .why = "The loss goes down whatever is masked. What is wrong shows much later: a model that never stops, or one "
              "that asks the question again.",
       .hints =
           {"At which position is the first token of the answer predicted? Which token was read there?",
            "targets[b, t] = (prompt + answer)[t + 1] if t + 1 >= the prompt's length, else -100.",
            "T is the largest prompt + answer - 1. ids: zeros [B, T]; targets: full of -100. For each row join prompt "
            "and answer; for t from 0 to its length - 2: ids[t] = all[t], and targets[t] = all[t + 1] from t = "
            "prompt - 1 on. Element [b, t] of a row-major [B, T] has index b·T + t."},
       .solution = {"rl/text/imitation.cpp", "TokenBatch sft_batch("},
       .run = check_sft_batch,
       .harmless = {{"detached", "ids have no tape"},
                    {{"f32", "always f64", "only positive"}, "ids are integers, and never negative"}}},
      {.id = "08.2",
       .title = "the pairwise loss",
       .piece = kit::piece<&Impl::bradley_terry_loss>("bradley_terry_loss"),
       .section = "From a choice to a number",
       .why =
           "A reward model is trained on nothing else. With a sign or a margin the wrong way it still trains, and pays "
           "for the wrong thing.",
       .hints =
           {"σ(x) of x = -800 is 0 in any dtype, and log 0 is -infinity. Which function is -log σ(x) without ever "
            "computing σ?",
            "softplus(-(chosen - rejected - margin)) + centring·(chosen + rejected)², all [N].",
            "difference = chosen - rejected; if margin.defined(), subtract margin.detach(); softplus(neg(difference)); "
            "add centring * (sum * sum) with sum = chosen + rejected."},
       .solution = {"rl/methods/preference_loss.cpp", "Tensor bradley_terry_loss("},
       .run = check_bradley_terry_loss,
       .harmless = {{"only positive", "-log σ and a square are never negative"},
                    {{"rank 0", "rank 4", "coprime sizes", "zero row"}, "all are [N]"},
                    {"infinite", "scores are finite numbers"}}},
      {.id = "08.3",
       .title = "where the score lands",
       .piece = kit::piece<&Impl::set_rewards>("set_rewards"),
       .section = "Four models",
       .why =
           "Libraries have put it on the padding behind the end of sequence, where nothing learns from it, and nobody "
           "noticed for months.",
       .hints = {"A response was judged as a whole. After which token was it whole?",
                 "rewards[last chosen token] = score, 0 elsewhere; as many rewards as tokens.",
                 "response.rewards.assign(response.tokens.size(), 0); then one assignment at "
                 "rl::last_chosen(response)."},
       .solution = {"rl/methods/batch.cpp", "Tensor reward_at_end("},
       .run = check_set_rewards},
      {.id = "08.4",
       .title = "the KL in the reward",
       .piece = kit::piece<&Impl::subtract_kl>("subtract_kl"),
       .section = "Four models",
       .why =
           "Only the KL keeps the policy near responses that the reward model has learned to judge. The demonstration "
           "shows what happens without it.",
       .hints = {"Which token should pay when the policy likes it more than the reference does? Can a token earn "
                 "something by this?",
                 "rewards[t] -= β·(log π[t] - log ref[t]) wherever chosen[t] is 1.",
                 "Loop over the tokens; skip those with chosen[t] == 0; subtract beta * (old_log_probs[t] - "
                 "ref_log_probs[t]) from what is there."},
       .solution = {"rl/methods/axes.cpp", "Tensor subtract_kl("},
       .run = check_subtract_kl},
      {.id = "08.5",
       .title = "a response's log-probability",
       .piece = kit::piece<&Impl::sequence_log_probs>("sequence_log_probs"),
       .section = "Without a reward model",
       .why =
           "DPO's theory is about whole responses. Means in place of sums, or a missing end of sequence, make another "
           "algorithm with the same name.",
       .hints = {"The probability of a sentence is a product over its words. What is its logarithm?",
                 "[B, T, V] log-probabilities → the targets' [B, T] → 0 where the mask is 0 → the sum of each row [B].",
                 "rows = rl::token_rows(responses); log_softmax(policy(rows.ids)); gather along dim 2 at "
                 "unsqueeze(rows.targets, 2) and squeeze; where(rows.mask, that, a scalar 0); sum over dim 1."},
       .solution = {"rl/text/preferences.cpp", "Tensor sequence_log_probs("},
       .run = check_sequence_log_probs,
       .harmless = {{"no elements", "there is at least one response"}}},
      {.id = "08.6",
       .title = "DPO",
       .piece = kit::piece<&Impl::dpo_loss>("dpo_loss"),
       .section = "Without a reward model",
       .why = "Its first value is known without running anything: ln 2 for every pair. A run that begins elsewhere is "
              "wrong, one that stays there does not learn.",
       .hints = {"Before the first step, what is log π - log ref? So what is the loss?",
                 "c = β·(log π_c - log ref_c), r = β·(log π_r - log ref_r), all [N]; loss = softplus(-(c - r)).",
                 "detach() both reference tensors; compute c and r; return {softplus(neg(c - r)), c.detach(), "
                 "r.detach()}."},
       .solution = {"rl/methods/preference_loss.cpp", "DpoLoss dpo_loss("},
       .run = check_dpo_loss,
       .harmless = {{{"rank 0", "rank 4", "coprime sizes", "zero row"}, "all are [N]"},
                    {"infinite", "log-probabilities are finite numbers"}}},
  };
}

namespace {

// The engine's functions take the numbers of all responses as tensors [B, T]. Here B is 1.
template <class Number>
Tensor row(const std::vector<Number>& x) {
  return Tensor::from(x, {1, static_cast<int64_t>(x.size())});
}

void set_rewards_by_engine(ScoredResponse& r) {
  r.rewards =
      rl::reward_at_end(Tensor::from(std::vector<double>{r.score.reward}, {1, 1}), row(r.action_mask)).to_vector();
}

void subtract_kl_by_engine(ScoredResponse& r, double beta) {
  const rl::KlInputs in{row(r.old_log_probs), row(r.ref_log_probs), {}, {}, row(r.action_mask)};
  r.rewards = rl::subtract_kl(row(r.rewards), in, beta).to_vector();
}

}  // namespace

Impl reference() {
  return {.sft_batch = rl::sft_batch,
          .bradley_terry_loss = rl::bradley_terry_loss,
          .set_rewards = set_rewards_by_engine,
          .subtract_kl = subtract_kl_by_engine,
          .sequence_log_probs = rl::sequence_log_probs,
          .dpo_loss = rl::dpo_loss};
}

}  // namespace pg::lesson08

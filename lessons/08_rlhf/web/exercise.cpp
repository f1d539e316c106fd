// The pieces of lesson 8 in a browser: each calls the learner's JavaScript.
#include "lessons/08_rlhf/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {
using lesson08::ScoredResponse, rl::DpoLoss, rl::DpoOptions, rl::TokenRows;
template <>
inline constexpr auto kFields<Problem> =
    std::tuple{field("prompt", &Problem::prompt), field("answer", &Problem::answer)};
template <>
inline constexpr auto kFields<TokenBatch> =
    std::tuple{field("ids", &TokenBatch::ids), field("targets", &TokenBatch::targets)};
template <>
inline constexpr auto kFields<Score> = std::tuple{field("reward", &Score::reward)};
template <>
inline constexpr auto kFields<ScoredResponse> = std::tuple{field("tokens", &ScoredResponse::tokens),
                                                           field("action_mask", &ScoredResponse::action_mask),
                                                           field("score", &ScoredResponse::score),
                                                           field("old_log_probs", &ScoredResponse::old_log_probs),
                                                           field("ref_log_probs", &ScoredResponse::ref_log_probs),
                                                           field("rewards", &ScoredResponse::rewards)};
template <>
inline constexpr auto kFields<TokenRows> =
    std::tuple{field("ids", &TokenRows::ids), field("targets", &TokenRows::targets), field("mask", &TokenRows::mask)};
template <>
inline constexpr auto kFields<DpoOptions> = std::tuple{field("beta", &DpoOptions::beta)};
template <>
inline constexpr auto kFields<DpoLoss> =
    std::tuple{field("loss", &DpoLoss::loss), field("chosen_reward", &DpoLoss::chosen_reward),
               field("rejected_reward", &DpoLoss::rejected_reward)};
}  // namespace pg::web

namespace pg::lesson08 {
using web::call;

TokenBatch sft_batch(std::span<const Problem> problems) { return call<TokenBatch>("sft_batch", problems); }
Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  return call<Tensor>("bradley_terry_loss", chosen, rejected, margin, centring);
}
void set_rewards(ScoredResponse& response) { call<void>("set_rewards", response); }
void subtract_kl(ScoredResponse& response, double beta) { call<void>("subtract_kl", response, beta); }
Tensor sequence_log_probs(const Transformer& policy, std::span<const Response* const> responses) {
  const web::Function forward = [&](std::span<const Tensor> x) {
    check(x.size() == 1, "policy: expected one tensor of ids, got {}", x.size());
    return policy(x[0]);
  };
  const rl::TokenRows rows = rl::token_rows(responses);
  return call<Tensor>("sequence_log_probs", forward, rows);
}
DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& options) {
  return call<DpoLoss>("dpo_loss", chosen, rejected, ref_chosen, ref_rejected, options);
}

}  // namespace pg::lesson08

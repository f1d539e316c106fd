// Wrong answers to lesson 8. The checks must call each WRONG and say why; everything else must stay
// ok. The last rows are right answers.
#include "lessons/kit/mutants.h"

#include <cmath>

#include "lessons/08_rlhf/answers.h"
#include "lessons/08_rlhf/checks.h"

namespace pg::lesson08 {
namespace {

using T = const Tensor&;

// No gradient arrives at the policy.
DpoLoss dpo_policy_detached(T c, T r, T rc, T rr, const DpoOptions& o) {
  return lesson08::dpo_loss(c.detach() + 0.0 * c, r.detach() + 0.0 * r, rc, rr, o);
}
DpoLoss dpo_rewards_with_gradient(T c, T r, T rc, T rr, const DpoOptions& o) {
  return {lesson08::dpo_loss(c, r, rc, rr, o).loss, o.beta * (c - rc), o.beta * (r - rr)};
}
void kl_changes_log_probs(ScoredResponse& r, double beta) {
  lesson08::subtract_kl(r, beta);
  for (size_t t = 0; t < r.tokens.size(); ++t) r.old_log_probs[t] -= r.action_mask[t] ? r.ref_log_probs[t] : 0;
}

// Right but unusual answers.

// The rows as lists, each filled to the width of the longest.
TokenBatch right_lists(std::span<const Problem> problems) {
  size_t width = 0;
  for (const Problem& p : problems) width = std::max(width, p.prompt.size() - 1 + p.answer.size());
  std::vector<int32_t> ids, targets;
  for (size_t b = 0; b < problems.size(); ++b) {
    const auto &prompt = problems[b].prompt, &answer = problems[b].answer;
    ids.insert(ids.end(), prompt.begin(), prompt.end());
    ids.insert(ids.end(), answer.begin(), answer.end() - 1);
    targets.insert(targets.end(), prompt.size() - 1, -100);
    targets.insert(targets.end(), answer.begin(), answer.end());
    ids.resize((b + 1) * width, 0);
    targets.resize((b + 1) * width, -100);
  }
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(width)};
  return {Tensor::from(ids, shape), Tensor::from(targets, shape)};
}

// -log σ(x) as max(-x, 0) + log(1 + e^-|x|).
Tensor right_stable_form(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  const Tensor asked = margin.defined() ? margin.detach() : zeros_like(chosen);
  const Tensor x = chosen - rejected - asked, sum = chosen + rejected;
  return relu(neg(x)) + log1p(exp(neg(abs(x)))) + sum * sum * centring;
}

// Backwards to the first token that the policy chose.
void right_backwards(ScoredResponse& response) {
  response.rewards.clear();
  double left = response.score.reward;
  for (size_t t = response.tokens.size(); t-- > 0;) {
    response.rewards.insert(response.rewards.begin(), response.action_mask[t] ? left : 0);
    if (response.action_mask[t]) left = 0;
  }
}

// All tokens, each by the factor 0 or 1.
void right_by_factor(ScoredResponse& response, double beta) {
  for (size_t t = response.rewards.size(); t-- > 0;) {
    const double log_ratio = response.ref_log_probs[t] - response.old_log_probs[t];
    response.rewards[t] += beta * response.action_mask[t] * log_ratio;
  }
}

// Each response in a batch of its own.
Tensor right_one_by_one(const Transformer& policy, std::span<const Response* const> responses) {
  std::vector<Tensor> sums;
  for (const Response* const& each : responses) {
    const rl::TokenRows rows = rl::token_rows({&each, 1});
    const Tensor log_prob = pg::token_log_prob(policy(rows.ids), rows.targets).first;
    sums.push_back(sum(log_prob * rows.mask.to(log_prob.dtype())));
  }
  return stack(sums);
}

// The differences of policies first: β·((chosen - rejected) - (ref_chosen - ref_rejected)).
DpoLoss right_policies_first(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                             const Tensor& ref_rejected, const DpoOptions& options) {
  const Tensor delta = (chosen - rejected) - (ref_chosen - ref_rejected).detach();
  const auto reward = [&](const Tensor& now, const Tensor& ref) { return options.beta * (now - ref).detach(); };
  return {softplus(neg(delta) * options.beta), reward(chosen, ref_chosen), reward(rejected, ref_rejected)};
}

}  // namespace

const kit::Mutants<Impl> of_sft(&Impl::sft_batch, sft_mistakes(), {{"right_lists", "08.1", "ok", right_lists}});
const kit::Mutants<Impl> of_pairs(&Impl::bradley_terry_loss, pair_mistakes(),
                                  {{"right_stable_form", "08.2", "ok", right_stable_form}});
const kit::Mutants<Impl> of_scores(&Impl::set_rewards, score_mistakes(),
                                   {{"right_backwards", "08.3", "ok", right_backwards}});
const kit::Mutants<Impl> of_kl(&Impl::subtract_kl, kl_mistakes(),
                               {{"kl_changes_log_probs", "08.4", "change rewards only", kl_changes_log_probs},
                                {"right_by_factor", "08.4", "ok", right_by_factor}});
const kit::Mutants<Impl> of_log_probs(&Impl::sequence_log_probs, log_prob_mistakes(),
                                      {{"right_one_by_one", "08.5", "ok", right_one_by_one}});
const kit::Mutants<Impl> of_dpo(&Impl::dpo_loss, dpo_mistakes(),
                                {{"dpo_policy_detached", "08.6", "no gradient arrives", dpo_policy_detached},
                                 {"dpo_rewards_with_gradient", "08.6", "detach() them", dpo_rewards_with_gradient},
                                 {"right_policies_first", "08.6", "ok", right_policies_first}});

}  // namespace pg::lesson08

#pragma once
// Right but unusual answers to lesson 8: the checks must accept them. mutants.cpp has the table.
#include <cmath>

#include "lessons/08_rlhf/lesson.h"

namespace pg::lesson08 {

// The rows as lists, each filled to the width of the longest.
inline TokenBatch right_lists(std::span<const Problem> problems) {
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
inline Tensor right_stable_form(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  const Tensor asked = margin.defined() ? margin.detach() : zeros_like(chosen);
  const Tensor x = chosen - rejected - asked, sum = chosen + rejected;
  return relu(neg(x)) + log1p(exp(neg(abs(x)))) + sum * sum * centring;
}

// Backwards to the first token that the policy chose.
inline void right_backwards(ScoredResponse& response) {
  response.rewards.clear();
  double left = response.score.reward;
  for (size_t t = response.tokens.size(); t-- > 0;) {
    response.rewards.insert(response.rewards.begin(), response.chosen[t] ? left : 0);
    if (response.chosen[t]) left = 0;
  }
}

// All tokens, each by the factor 0 or 1.
inline void right_by_factor(ScoredResponse& response, double beta) {
  for (size_t t = response.rewards.size(); t-- > 0;) {
    const double log_ratio = response.ref_log_probs[t] - response.old_log_probs[t];
    response.rewards[t] += beta * response.chosen[t] * log_ratio;
  }
}

// Each response in a batch of its own.
inline Tensor right_one_by_one(const Transformer& policy, std::span<const Response* const> responses) {
  std::vector<Tensor> sums;
  for (const Response* const& each : responses) {
    const rl::TokenRows rows = rl::token_rows({&each, 1});
    const Tensor log_prob = pg::token_log_prob(policy(rows.ids), rows.targets).first;
    sums.push_back(sum(log_prob * rows.mask.to(log_prob.dtype())));
  }
  return stack(sums);
}

// The differences of policies first: β·((chosen - rejected) - (ref_chosen - ref_rejected)).
inline DpoLoss right_policies_first(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen,
                                    const Tensor& ref_rejected, const DpoOptions& options) {
  const Tensor delta = (chosen - rejected) - (ref_chosen - ref_rejected).detach();
  const auto reward = [&](const Tensor& now, const Tensor& ref) { return options.beta * (now - ref).detach(); };
  return {softplus(neg(delta) * options.beta), reward(chosen, ref_chosen), reward(rejected, ref_rejected)};
}

}  // namespace pg::lesson08

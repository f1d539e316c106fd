// Lesson 8: RLHF. This is your file: replace each TODO(...), then:
//   make lesson8 && ./lesson8 check
//
// N pairs, B responses, T positions, V tokens. A ScoredResponse (lesson.h) has
// prompt and tokens (ids), action_mask (1 where the policy chose the token),
// score.reward, and by token old_log_probs, ref_log_probs, rewards. Useful:
// Tensor::zeros({b, t}, i32), Tensor::full(shape, x, i32),
// x.data<int32_t>()[place], softplus(x) = log(1 + e^x), neg(x), x.detach(),
// log_softmax(x), gather(x, dim, index), unsqueeze / squeeze(x, dim),
// where(mask, a, b), Tensor::scalar(0, dtype), sum(x, {dim}),
// rl::last_chosen(response), rl::token_rows(responses). All ops are in
// autograd/ops.h, tensors in tensor/tensor.h. Results have the dtype of the
// inputs.
//
// Names: rl::dpo_loss is the engine's, yours is lesson08::dpo_loss. Where a
// call is ambiguous, write the one that you mean.
#include <algorithm>

#include "lessons/08_rlhf/lesson.h"

namespace pg::lesson08 {

// Problems as rows padded on the right. A problem has .prompt and .answer, each
// of at least one token. ids i32 [B, T]: all tokens of prompt and answer except
// the last one, then 0. targets i32 [B, T]: at each position the token that
// follows it, if that token belongs to the answer (its end of sequence too);
// else -100, which means "no target". T is that of the longest row.
TokenBatch sft_batch(std::span<const Problem> problems) {
  // [answer 08.1 sft_batch]
  size_t longest = 0;
  for (const Problem& p : problems) longest = std::max(longest, p.prompt.size() + p.answer.size() - 1);
  const Shape shape = {static_cast<int64_t>(problems.size()), static_cast<int64_t>(longest)};
  const TokenBatch batch{Tensor::zeros(shape, i32), Tensor::full(shape, -100, i32)};
  for (size_t b = 0; b < problems.size(); ++b) {
    std::vector<int32_t> all = problems[b].prompt;
    all.insert(all.end(), problems[b].answer.begin(), problems[b].answer.end());
    for (size_t t = 0; t + 1 < all.size(); ++t) {
      batch.ids.data<int32_t>()[b * longest + t] = all[t];
      if (t + 1 >= problems[b].prompt.size()) batch.targets.data<int32_t>()[b * longest + t] = all[t + 1];
    }
  }
  return batch;
  // [end]
}

// For each pair [N], with the reward model's scores chosen, rejected [N]:
//   -log σ(chosen - rejected - margin) + centring·(chosen + rejected)²
// The margin [N] may be undefined (margin.defined()) and is a constant. Exact
// for scores of any size.
Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  // [answer 08.2 bradley_terry_loss]
  Tensor difference = chosen - rejected;
  if (margin.defined()) difference = difference - margin.detach();
  const Tensor sum = chosen + rejected;
  return softplus(neg(difference)) + centring * (sum * sum);
  // [end]
}

// response.rewards, one for each of its tokens: score.reward at the last token
// that the policy chose, 0 at all others. What was in rewards before is lost.
void set_rewards(ScoredResponse& response) {
  // [answer 08.3 set_rewards]
  response.rewards.assign(response.tokens.size(), 0);
  response.rewards[rl::last_chosen(response)] = response.score.reward;
  // [end]
}

// Takes beta·(log π - log ref) off the reward of each token that the policy
// chose. log π is old_log_probs: that of the policy which drew the tokens.
void subtract_kl(ScoredResponse& response, double beta) {
  // [answer 08.4 subtract_kl]
  for (size_t t = 0; t < response.tokens.size(); ++t) {
    if (!response.action_mask[t]) continue;
    response.rewards[t] -= beta * (response.old_log_probs[t] - response.ref_log_probs[t]);
  }
  // [end]
}

// log π(response | prompt) [B]: the sum of log π over the tokens that the
// policy chose, end of sequence included, prompt and padding not. It needs a
// gradient.
// rl::token_rows(responses) gives ids and targets i32 [B, T] and the mask
// u8 [B, T] of what counts; policy(ids) gives logits [B, T, V].
Tensor sequence_log_probs(const Transformer& policy, std::span<const Response* const> responses) {
  // [answer 08.5 sequence_log_probs]
  const rl::TokenRows rows = rl::token_rows(responses);
  const Tensor all = log_softmax(policy(rows.ids));
  const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.targets, 2)), 2);
  return sum(where(rows.mask, log_prob, Tensor::scalar(0, log_prob.dtype())), {1});
  // [end]
}

// All [N]: log-probabilities of the chosen and the rejected responses under the
// policy, then under the reference, which is a constant.
//   c = chosen - ref_chosen      r = rejected - ref_rejected
//   loss = -log σ(beta·(c - r)), exact for Δ of any size
//   chosen_reward = beta·c, rejected_reward = beta·r, both without gradient
// Only options.beta matters here.
DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& options) {
  // [answer 08.6 dpo_loss]
  const Tensor c = options.beta * (chosen - ref_chosen.detach());
  const Tensor r = options.beta * (rejected - ref_rejected.detach());
  return {softplus(neg(c - r)), c.detach(), r.detach()};
  // [end]
}

}  // namespace pg::lesson08

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
  // Yours, in place of the next line.
  TODO("08.1 sft_batch");
}

// For each pair [N], with the reward model's scores chosen, rejected [N]:
//   -log σ(chosen - rejected - margin) + centring·(chosen + rejected)²
// The margin [N] may be undefined (margin.defined()) and is a constant. Exact
// for scores of any size.
Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin, double centring) {
  // Yours, in place of the next line.
  TODO("08.2 bradley_terry_loss");
}

// response.rewards, one for each of its tokens: score.reward at the last token
// that the policy chose, 0 at all others. What was in rewards before is lost.
void set_rewards(ScoredResponse& response) {
  // Yours, in place of the next line.
  TODO("08.3 set_rewards");
}

// Takes beta·(log π - log ref) off the reward of each token that the policy
// chose. log π is old_log_probs: that of the policy which drew the tokens.
void subtract_kl(ScoredResponse& response, double beta) {
  // Yours, in place of the next line.
  TODO("08.4 subtract_kl");
}

// log π(response | prompt) [B]: the sum of log π over the tokens that the
// policy chose, end of sequence included, prompt and padding not. It needs a
// gradient.
// rl::token_rows(responses) gives ids and targets i32 [B, T] and the mask
// u8 [B, T] of what counts; policy(ids) gives logits [B, T, V].
Tensor sequence_log_probs(const Transformer& policy, std::span<const Response* const> responses) {
  // Yours, in place of the next line.
  TODO("08.5 sequence_log_probs");
}

// All [N]: log-probabilities of the chosen and the rejected responses under the
// policy, then under the reference, which is a constant.
//   c = chosen - ref_chosen      r = rejected - ref_rejected
//   loss = -log σ(beta·(c - r)), exact for Δ of any size
//   chosen_reward = beta·c, rejected_reward = beta·r, both without gradient
// Only options.beta matters here.
DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& options) {
  // Yours, in place of the next line.
  TODO("08.6 dpo_loss");
}

}  // namespace pg::lesson08

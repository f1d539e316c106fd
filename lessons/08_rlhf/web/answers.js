// Lesson 8: RLHF. Replace each TODO(), then press Check.
// N pairs, B responses, T positions, V tokens. Results have the dtype of the
// inputs. Useful: tensor(list, shape, "i32") of B·T numbers, row after row;
// softplus(x) = log(1 + e^x), neg(x), detach(x), log_softmax(x),
// gather(x, dim, index), unsqueeze / squeeze(x, dim), where(mask, a, b),
// sum(x, [dim]).

// Problems as rows padded on the right. A problem has .prompt and .answer, each
// a list of at least one token. The result is {ids, targets}. ids i32 [B, T]:
// all tokens of prompt and answer except the last one, then 0. targets i32
// [B, T]: at each position the token that follows it, if that token belongs to
// the answer (its end of sequence too); else -100, which means "no target". T
// is that of the longest row.
function sft_batch(problems) {
  // [answer 08.1 sft_batch]
  const longest = Math.max(...problems.map((p) => p.prompt.length + p.answer.length - 1));
  const ids = [], targets = [];
  for (const {prompt, answer} of problems) {
    const all = [...prompt, ...answer];
    for (let t = 0; t < longest; ++t) {
      const read = t + 1 < all.length;
      ids.push(read ? all[t] : 0);
      targets.push(read && t + 1 >= prompt.length ? all[t + 1] : -100);
    }
  }
  const shape = [problems.length, longest];
  return {ids: tensor(ids, shape, "i32"), targets: tensor(targets, shape, "i32")};
  // [end]
}

// For each pair [N], with the reward model's scores chosen, rejected [N]:
//   -log σ(chosen - rejected - margin) + centring·(chosen + rejected)²
// The margin [N] may be null and is a constant; centring is a number. Exact for
// scores of any size.
function bradley_terry_loss(chosen, rejected, margin, centring) {
  // [answer 08.2 bradley_terry_loss]
  let difference = sub(chosen, rejected);
  if (margin !== null) difference = sub(difference, detach(margin));
  const total = add(chosen, rejected);
  return add(softplus(neg(difference)), mul(mul(total, total), centring));
  // [end]
}

// response.rewards, one for each of response.tokens: response.score.reward at
// the last token that the policy chose, 0 at all others. action_mask is 1 where
// the policy chose the token. What was in rewards before is lost; it may have
// another length.
function set_rewards(response) {
  // [answer 08.3 set_rewards]
  response.rewards = new Array(response.tokens.length).fill(0);
  response.rewards[response.action_mask.lastIndexOf(1)] = response.score.reward;
  // [end]
}

// Takes beta·(log π - log ref) off the reward of each token that the policy
// chose: response.rewards changes. log π is response.old_log_probs, that of the
// policy which drew the tokens; log ref is response.ref_log_probs.
function subtract_kl(response, beta) {
  // [answer 08.4 subtract_kl]
  const {action_mask, old_log_probs, ref_log_probs, rewards} = response;
  for (let t = 0; t < rewards.length; ++t) {
    if (action_mask[t]) rewards[t] -= beta * (old_log_probs[t] - ref_log_probs[t]);
  }
  // [end]
}

// log π(response | prompt) [B]: the sum of log π over the tokens that the
// policy chose, end of sequence included, prompt and padding not. It needs a
// gradient.
// rows has ids and targets i32 [B, T], and the mask u8 [B, T] of what counts;
// policy(ids) gives logits [B, T, V].
function sequence_log_probs(policy, rows) {
  // [answer 08.5 sequence_log_probs]
  const all = log_softmax(policy(rows.ids));
  const log_prob = squeeze(gather(all, 2, unsqueeze(rows.targets, 2)), 2);
  return sum(where(rows.mask, log_prob, 0), [1]);
  // [end]
}

// All [N]: log-probabilities of the chosen and the rejected responses under the
// policy, then under the reference, which is a constant.
//   c = chosen - ref_chosen      r = rejected - ref_rejected
//   loss = -log σ(options.beta·(c - r)), exact for Δ of any size
//   chosen_reward = beta·c, rejected_reward = beta·r, both without gradient
// The result is {loss, chosen_reward, rejected_reward}.
function dpo_loss(chosen, rejected, ref_chosen, ref_rejected, options) {
  // [answer 08.6 dpo_loss]
  const c = mul(sub(chosen, detach(ref_chosen)), options.beta);
  const r = mul(sub(rejected, detach(ref_rejected)), options.beta);
  return {loss: softplus(sub(r, c)), chosen_reward: detach(c), rejected_reward: detach(r)};
  // [end]
}

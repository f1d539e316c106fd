// Lesson 6: REINFORCE. Replace each TODO(), then press Check.
// B episodes, T steps, R rows, V tokens. Results have the dtype of the inputs.

// log softmax(logits)[id] of each row: logits [R, V], ids i32 [R] → [R]. The
// gradient must flow back to the logits.
function token_log_prob(logits, ids) {
  // [answer 06.1 token_log_prob]
  return squeeze(gather(log_softmax(logits), 1, unsqueeze(ids, 1)), 1);
  // [end]
}

// A loss whose gradient is the policy gradient: one number,
// -(1/B) Σ_b Σ_t advantage · log_prob over the steps where mask is 1. log_prob
// and advantage [B, T], mask u8 [B, T]. The advantage is a constant: no
// gradient goes into it. Where mask is 0, log_prob and advantage may be
// anything, even infinity and NaN: they must not change the loss, and the
// gradient there is 0.
function reinforce_loss(log_prob, advantage, mask) {
  // [answer 06.2 reinforce_loss]
  const weighted = mul(where(mask, log_prob, 0), where(mask, detach(advantage), 0));
  return div(sum(weighted), -log_prob.size(0));
  // [end]
}

// The return of each step, in its own row:
//   G[b, t] = r[b, t] + gamma · r[b, t+1] + gamma² · r[b, t+2] + …
// rewards [B, T], f64. numbers(rewards) is a list of all B·T numbers, row after
// row; tensor(list, rewards.shape) makes a tensor of one.
function return_to_go(rewards, gamma) {
  // [answer 06.3 return_to_go]
  const g = numbers(rewards), [rows, steps] = rewards.shape;
  for (let b = 0; b < rows; ++b) {
    for (let t = steps - 2; t >= 0; --t) g[b * steps + t] += gamma * g[b * steps + t + 1];
  }
  return tensor(g, rewards.shape);
  // [end]
}

// Returns (any shape, at least one) minus the baseline sum / weight (0 before
// the first batch). Then the baseline learns from this batch:
//   baseline.sum = baseline.decay·baseline.sum + mean of the returns
//   baseline.weight = baseline.decay·baseline.weight + 1
// Compute the result first.
function advantage(baseline, returns) {
  // [answer 06.4 advantage]
  const result = sub(detach(returns), baseline.weight > 0 ? baseline.sum / baseline.weight : 0);
  baseline.sum = baseline.decay * baseline.sum + item(mean(detach(returns)));
  baseline.weight = baseline.decay * baseline.weight + 1;
  return result;
  // [end]
}

// Three estimates of KL(policy, reference) from samples of the policy, element
// by element, for tensors of any shape:
//   k1 = log π - log ref      k2 = k1² / 2      k3 = ref/π - 1 - log(ref/π)
// k3 must be exact even where the two are nearly equal. A loss may contain
// them, so do not detach: the gradient must flow back to log_prob.
function k1(log_prob, ref_log_prob) {
  // [answer 06.5 k1]
  return sub(log_prob, ref_log_prob);
  // [end]
}
function k2(log_prob, ref_log_prob) {
  // [answer 06.5 k2]
  const d = sub(log_prob, ref_log_prob);
  return mul(mul(d, d), 0.5);
  // [end]
}
function k3(log_prob, ref_log_prob) {
  // [answer 06.5 k3]
  const d = sub(ref_log_prob, log_prob);
  return sub(expm1(d), d);
  // [end]
}

// Lesson 9: GRPO. Replace each TODO(), then press Check.
// N groups of G rewards; B responses of T tokens.

// Each reward minus the mean of its own group (its row): rewards [N, G], f32 or
// f64 → [N, G]. Equal rewards must give exactly 0, also where their mean is
// rounded: the computer cannot store 0.1 exactly.
function group_mean_advantage(rewards) {
  // [answer 09.1 group_mean_advantage]
  const d = sub(rewards, slice(rewards, 1, 0, 1)); // equal rewards: exactly 0 from here on
  return sub(d, mean(d, [1], true));
  // [end]
}

// (r - mean) / (std + eps) within each row, the variance divided by G - ddof
// (1: sample, 0: population). Equal rewards give exactly 0, and so does a group
// of one.
function group_std_advantage(rewards, eps, ddof) {
  // [answer 09.2 group_std_advantage]
  const d = sub(rewards, slice(rewards, 1, 0, 1)), off = sub(d, mean(d, [1], true));
  const count = Math.max(rewards.size(1) - ddof, 1);
  return div(off, add(sqrt(div(sum(mul(off, off), [1], true), count)), eps));
  // [end]
}

// Each reward minus the mean of the G - 1 others of its group: rewards [N, G] →
// [N, G]. Equal rewards give exactly 0, and so does a group of one, which has
// no others.
function leave_one_out_advantage(rewards) {
  // [answer 09.3 leave_one_out_advantage]
  const g = rewards.size(1);
  if (g === 1) return mul(rewards, 0);
  const d = sub(rewards, slice(rewards, 1, 0, 1));
  return sub(d, div(sub(sum(d, [1], true), d), g - 1));
  // [end]
}

// 1 for each group whose rewards are not all the same, else 0: rewards [N, G] →
// u8 [N]. However small the difference. (eq, ne, lt, le, gt, ge compare.)
function groups_with_signal(rewards) {
  // [answer 09.4 groups_with_signal]
  return ne(amax(abs(sub(rewards, slice(rewards, 1, 0, 1))), [1]), 0);
  // [end]
}

// π now / π when the token was sampled, token by token: exp(log_prob -
// old_log_prob), the difference held within ±20. log_prob, old_log_prob [B, T]
// → [B, T]; mask u8 [B, T]. Where mask is 0 the inputs may be anything,
// infinity too: there the ratio is 1, and has no gradient.
function token_ratio(log_prob, old_log_prob, mask) {
  // [answer 09.5 token_ratio]
  return exp(clamp(where(mask, sub(log_prob, old_log_prob), 0), -20, 20));
  // [end]
}

// One ratio per response, [B, T] → [B, 1]: exp(m), where m is the mean of the
// log-ratios over the response's own tokens, held within ±20: the mean is held,
// not each log-ratio. A response without a token has ratio 1. Where mask is 0
// the inputs may be anything, as above. (to(mask, dtype) makes numbers of
// it.)
function sequence_ratio(log_prob, old_log_prob, mask) {
  // [answer 09.6 sequence_ratio]
  const logRatio = where(mask, sub(log_prob, old_log_prob), 0);
  const length = maximum(sum(to(mask, log_prob.dtype), [1], true), 1);
  return exp(clamp(div(sum(logRatio, [1], true), length), -20, 20));
  // [end]
}

// Losses by token, loss [B, T] with mask u8 [B, T], as one number. B may be a
// part of the update only (a micro-batch), so what is divided by comes from
// `total`, which is of the whole update: .tokens, .sequences, .max_length.
//   how "token_mean"     Σ over all tokens / tokens
//   how "sequence_mean"  Σ over responses of (the mean over its own tokens) /
//     sequences
//   how "constant"       Σ over all tokens / (sequences · max_length)
//   how "sequence_sum"   Σ over all tokens / sequences
// Where mask is 0 the loss may be anything. A response without a token adds
// nothing.
function aggregate(loss, mask, how, total) {
  // [answer 09.7 aggregate]
  const kept = where(mask, loss, 0);
  if (how === "token_mean") return div(sum(kept), total.tokens);
  if (how === "constant") return div(sum(kept), total.sequences * total.max_length);
  if (how === "sequence_sum") return div(sum(kept), total.sequences);
  const length = maximum(sum(to(mask, loss.dtype), [1], true), 1);
  return div(sum(div(sum(kept, [1], true), length)), total.sequences);
  // [end]
}

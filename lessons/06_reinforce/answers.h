// Lesson 6: REINFORCE. This is your file: replace each TODO(...), then:
//   make lesson6 && ./lesson6 check
//
// B episodes, T steps, R rows, V tokens. Useful: log_softmax(x),
// gather(x, dim, index), unsqueeze(x, dim), squeeze(x, dim), where(mask, a, b),
// Tensor::scalar(0, dtype), sum(x), expm1(x), x.clone(), x.data<double>(),
// x.detach(), mean(x).item(). All ops are in autograd/ops.h, tensors in
// tensor/tensor.h. Results have the dtype of the inputs.
//
// Names: pg::token_log_prob is the engine's, yours is lesson06::token_log_prob.
// Where a call is ambiguous, write the one that you mean.
#include "lessons/06_reinforce/lesson.h"

namespace pg::lesson06 {

// log softmax(logits)[id] of each row: logits [R, V], ids i32 [R] → [R]. The
// gradient must flow back to the logits.
Tensor token_log_prob(const Tensor& logits, const Tensor& ids) {
  // [answer 06.1 token_log_prob]
  return squeeze(gather(log_softmax(logits), 1, unsqueeze(ids, 1)), 1);
  // [end]
}

// A loss whose gradient is the policy gradient: one number,
// -(1/B) Σ_b Σ_t advantage · log_prob over the steps where mask is 1. log_prob
// and advantage [B, T], mask u8 [B, T]. The advantage is a constant: no
// gradient goes into it. Where mask is 0, log_prob and advantage may be
// anything, even infinity and nan: they must not change the loss, and the
// gradient there is 0.
Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  // [answer 06.2 reinforce_loss]
  const Tensor zero = Tensor::scalar(0, log_prob.dtype());
  const Tensor weighted = where(mask, log_prob, zero) * where(mask, advantage.detach(), zero);
  return sum(weighted) / -static_cast<double>(log_prob.size(0));
  // [end]
}

// The return of each step, in its own row:
//   G[b, t] = r[b, t] + gamma · r[b, t+1] + gamma² · r[b, t+2] + …
// rewards [B, T], f64. Leave the rewards as they are: work on rewards.clone(),
// whose numbers are data<double>(), row after row.
Tensor return_to_go(const Tensor& rewards, double gamma) {
  // [answer 06.3 return_to_go]
  const Tensor result = rewards.clone();
  const auto g = result.data<double>();
  const int64_t steps = rewards.size(1);
  for (int64_t b = 0; b < rewards.size(0); ++b) {
    for (int64_t t = steps - 2; t >= 0; --t) {
      const size_t at = static_cast<size_t>(b * steps + t);
      g[at] += gamma * g[at + 1];
    }
  }
  return result;
  // [end]
}

// Returns (any shape, at least one) minus the baseline sum / weight (0 before
// the first batch). Then the baseline learns from this batch:
//   sum = decay·sum + mean of the returns,   weight = decay·weight + 1
// Compute the result first.
Tensor advantage(Baseline& baseline, const Tensor& returns) {
  // [answer 06.4 advantage]
  const Tensor result = returns.detach() - (baseline.weight > 0 ? baseline.sum / baseline.weight : 0.0);
  baseline.sum = baseline.decay * baseline.sum + mean(returns.detach()).item();
  baseline.weight = baseline.decay * baseline.weight + 1;
  return result;
  // [end]
}

// Three estimates of KL(policy, reference) from samples of the policy, element
// by element, for tensors of any shape:
//   k1 = log π - log ref      k2 = k1² / 2      k3 = ref/π - 1 - log(ref/π)
// k3 must be exact even where the two are nearly equal. A loss may contain
// them, so do not detach: the gradient must flow back to log_prob.
Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob) {
  // [answer 06.5 k1]
  return log_prob - ref_log_prob;
  // [end]
}
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob) {
  // [answer 06.5 k2]
  const Tensor d = log_prob - ref_log_prob;
  return d * d * 0.5;
  // [end]
}
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob) {
  // [answer 06.5 k3]
  const Tensor d = ref_log_prob - log_prob;
  return expm1(d) - d;
  // [end]
}

}  // namespace pg::lesson06

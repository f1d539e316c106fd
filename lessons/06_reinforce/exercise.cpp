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
  // Yours, in place of the next line.
  TODO("06.1 token_log_prob");
}

// A loss whose gradient is the policy gradient: one number,
// -(1/B) Σ_b Σ_t advantage · log_prob over the steps where mask is 1. log_prob
// and advantage [B, T], mask u8 [B, T]. The advantage is a constant: no
// gradient goes into it. Where mask is 0, log_prob and advantage may be
// anything, even infinity and nan: they must not change the loss, and the
// gradient there is 0.
Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask) {
  // Yours, in place of the next line.
  TODO("06.2 reinforce_loss");
}

// The return of each step, in its own row:
//   G[b, t] = r[b, t] + gamma · r[b, t+1] + gamma² · r[b, t+2] + …
// rewards [B, T], f64. Leave the rewards as they are: work on rewards.clone(),
// whose numbers are data<double>(), row after row.
Tensor return_to_go(const Tensor& rewards, double gamma) {
  // Yours, in place of the next line.
  TODO("06.3 return_to_go");
}

// Returns (any shape, at least one) minus the baseline sum / weight (0 before
// the first batch). Then the baseline learns from this batch:
//   sum = decay·sum + mean of the returns,   weight = decay·weight + 1
// Compute the result first.
Tensor advantage(Baseline& baseline, const Tensor& returns) {
  // Yours, in place of the next line.
  TODO("06.4 advantage");
}

// Three estimates of KL(policy, reference) from samples of the policy, element
// by element, for tensors of any shape:
//   k1 = log π - log ref      k2 = k1² / 2      k3 = ref/π - 1 - log(ref/π)
// k3 must be exact even where the two are nearly equal. A loss may contain
// them, so do not detach: the gradient must flow back to log_prob.
Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob) {
  // Yours, in place of the next line.
  TODO("06.5 k1");
}
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob) {
  // Yours, in place of the next line.
  TODO("06.5 k2");
}
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob) {
  // Yours, in place of the next line.
  TODO("06.5 k3");
}

}  // namespace pg::lesson06

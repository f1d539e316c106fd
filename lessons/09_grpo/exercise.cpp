// Lesson 9: GRPO. This is your file: replace each TODO(...), then:
// make lesson9 && ./lesson9 check
//
// N groups of G responses; B = N·G responses of at most T tokens. Useful:
// mean(x, {1}, true) and sum(x, {1}, true) are [rows, 1]; x.view_slice(1, 0, 1)
// is the first column; amax(x, {1}) is [rows]; abs, sqrt, exp, clamp(x, low,
// high), maximum(a, b), zeros_like(x), where(mask, a, b), ne(a, b) → u8,
// Tensor::scalar(0, x.dtype()), mask.to(x.dtype()). All ops are in
// autograd/ops.h, tensors in tensor/tensor.h.
//
// Names: rl::group_mean_advantage is the engine's, yours is
// lesson09::group_mean_advantage. Where a call is ambiguous, write the one that
// you mean.
#include <algorithm>

#include "lessons/09_grpo/lesson.h"

namespace pg::lesson09 {

// Each reward minus the mean of its own group (its row): rewards [N, G], f32 or
// f64 → [N, G]. Equal rewards must give exactly 0, also where their mean is
// rounded: the computer cannot store 0.1 exactly.
Tensor group_mean_advantage(const Tensor& rewards) {
  // Yours, in place of the next line.
  TODO("09.1 group_mean_advantage");
}

// (r - mean) / (std + eps) within each row, the variance divided by G - ddof
// (1: sample, 0: population). Equal rewards give exactly 0, and so does a group
// of one.
Tensor group_std_advantage(const Tensor& rewards, double eps, int ddof) {
  // Yours, in place of the next line.
  TODO("09.2 group_std_advantage");
}

// Each reward minus the mean of the G - 1 others of its group: rewards [N, G] →
// [N, G]. Equal rewards give exactly 0, and so does a group of one, which has
// no others.
Tensor leave_one_out_advantage(const Tensor& rewards) {
  // Yours, in place of the next line.
  TODO("09.3 leave_one_out_advantage");
}

// 1 for each group whose rewards are not all the same, else 0: rewards [N, G] →
// u8 [N]. However small the difference.
Tensor groups_with_signal(const Tensor& rewards) {
  // Yours, in place of the next line.
  TODO("09.4 groups_with_signal");
}

// π now / π when the token was sampled, token by token: exp(log_prob -
// old_log_prob), the difference held within ±rl::kMaxLogRatio. log_prob,
// old_log_prob [B, T] → [B, T]; mask u8 [B, T]. Where mask is 0 the inputs may
// be anything, infinity too: there the ratio is 1, and has no gradient.
Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  // Yours, in place of the next line.
  TODO("09.5 token_ratio");
}

// One ratio per response, [B, T] → [B, 1]: exp(m), where m is the mean of the
// log-ratios over the response's own tokens, held within ±rl::kMaxLogRatio: the
// mean is held, not each log-ratio. A response without a token has ratio 1.
// Where mask is 0 the inputs may be anything, as above.
Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask) {
  // Yours, in place of the next line.
  TODO("09.6 sequence_ratio");
}

// Losses by token, loss [B, T] with mask u8 [B, T], as one number. B may be a
// part of the update only (a micro-batch), so what is divided by comes from
// `total`, which is of the whole update: .tokens, .sequences, .max_length.
//   Aggregation::token_mean     Σ over all tokens / tokens
//   Aggregation::sequence_mean  Σ over responses of (the mean over its own
//     tokens) / sequences
//   Aggregation::constant       Σ over all tokens / (sequences · max_length)
//   Aggregation::sequence_sum   Σ over all tokens / sequences
// Where mask is 0 the loss may be anything. A response without a token adds
// nothing.
Tensor aggregate(const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total) {
  // Yours, in place of the next line.
  TODO("09.7 aggregate");
}

}  // namespace pg::lesson09

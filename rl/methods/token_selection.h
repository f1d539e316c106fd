#pragma once
// Which tokens of a rollout the loss treats differently. log_prob, advantage and entropy are [B, T] f64 on the CPU;
// mask is u8 [B, T]. The results are u8 [B, T], 0 where the mask is 0.
#include "tensor/base/random.h"
#include "tensor/tensor.h"

namespace pg::rl {

// The tokens whose entropy is in the highest `share` of the batch: at or above the quantile 1 - share, interpolated
// linearly. A few tokens at which the text branches carry the learning signal (Wang et al. 2025, arXiv:2506.01939). TRL
// selects anew at each loss, by the entropy of that moment; the trainer selects once per rollout, by that of the policy
// before the update.
Tensor high_entropy_tokens(const Tensor& entropy, const Tensor& mask, double share);

// (log π - mean)·(A - mean), the means over the unmasked tokens: entropy falls fastest where this covariance is large
// (Cui et al. 2025, arXiv:2505.22617). 0 where the mask is 0.
Tensor token_covariance(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask);
// Clip-Cov: max(1, share·tokens) tokens drawn at random among those with a covariance between low and high (same
// paper). All of them if there are fewer. verl draws them anew at each update, among the tokens that the clip of the
// ratio leaves alone; the trainer draws them once per rollout, where every ratio is 1 and nothing is clipped.
Tensor clip_cov_tokens(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask, double share, double low,
                       double high, Generator& generator);
// KL-Cov: the max(1, share·tokens) tokens with the largest covariance (same paper). verl selects them anew at each
// update from a micro-batch, by the log-probabilities of that moment; the trainer once per rollout from all of it, by
// those of the policy before the update, so that the size of a micro-batch changes nothing.
Tensor kl_cov_tokens(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask, double share);

}  // namespace pg::rl

#pragma once
// Losses whose gradient is a policy gradient, composed of three choices: a ratio, a surrogate per token, an
// aggregation. All losses are minimised. B responses, T tokens. log_prob and old_log_prob [B, T] are log π(token) now
// and at sampling time. advantage [B, T], or [B, 1] for one value per response, is treated as a constant. mask u8 [B,
// T] is the action mask: 1 on tokens sampled by the policy, up to and including the first EOS; undefined: all 1. Masked
// slots may hold anything, including infinity, with one exception: an advantage [B, T] used with a ratio [B, 1] must be
// finite there (the advantages of rl/advantages.h are 0 there).
#include "autograd/ops.h"

namespace pg::rl {

// |log-ratio| is clamped to this, with gradient 0 beyond: e^20 is far outside any clip range, e^100 would be infinite
// in f32.
constexpr double kMaxLogRatio = 20;

// ---- ratio: ρ = π / old

// exp(log_prob - old_log_prob) [B, T]; masked slots are 1.
Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask = {});
// GSPO: s = exp(mean over the response of the log-ratio) [B, 1] (Zheng et al. 2025, arXiv:2507.18071).
Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask = {});
// GSPO-token: sg(s)·π/sg(π) [B, T], the value of s with the gradient of each token (same paper).
Tensor sequence_token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask = {});

// ---- surrogate: loss per token, [B, T] (or [B, 1] from sequence_ratio)

// -A·log π. Its gradient is that of ratio_loss at ρ = 1; its value differs (Williams 1992).
Tensor log_prob_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask = {});
// -ρ·A.
Tensor ratio_loss(const Tensor& ratio, const Tensor& advantage);
// PPO: -min(ρA, clip(ρ, 1 - low, 1 + high)·A) (Schulman et al. 2017, arXiv:1707.06347). high > low is DAPO's
// clip-higher (arXiv:2503.14476). Where both branches are equal the gradient flows through the unclipped one.
Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low = 0.2, double high = 0.2);
// clip_loss, but at most -c·A where A < 0: this bounds the push against a bad action (Ye et al. 2019,
// arXiv:1912.09729).
Tensor dual_clip_loss(const Tensor& ratio, const Tensor& advantage, double low = 0.2, double high = 0.2, double c = 3);
// CISPO: -sg(clip(ρ, 1 - low, 1 + high))·A·log π. Every token keeps its gradient; only its weight is bounded (MiniMax
// 2025, arXiv:2506.13585).
Tensor cispo_loss(const Tensor& log_prob, const Tensor& ratio, const Tensor& advantage, double low = 0.2,
                  double high = 0.2, const Tensor& mask = {});

// Truncated importance weight min(exp(old - sampler), cap) [B, T], a constant factor for the loss. It corrects for the
// sampler's log-probabilities differing slightly from the trainer's (another kernel, another precision) (Yao et al.
// 2025, "Your efficient RL framework secretly brings you off-policy RL training"). On the CPU it is exactly 1.
Tensor truncated_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double cap = 2,
                        const Tensor& mask = {});

// ---- aggregation: loss [B, T] (or [B, 1]) → scalar. This choice determines the algorithm.

// The divisors of the sums. They are those of the whole update, not of a micro-batch or rank, so that the losses of all
// parts add up to the loss of the whole.
struct Denominators {
  double tokens = 0;      // Σ len_i, for token_mean
  double sequences = 0;   // B, for the others
  double max_length = 0;  // L_max, for constant
};
Denominators denominators(const Tensor& mask, double max_length = 0);
// Responses without a token are ignored. Each throws Error if its divisor is not positive.
// Σ_i Σ_t m·l / tokens: long responses weigh more (DAPO).
Tensor token_mean(const Tensor& loss, const Tensor& mask, const Denominators& total);
// 1/B Σ_i (1/len_i) Σ_t m·l: the tokens of long responses weigh less (GRPO).
Tensor sequence_mean(const Tensor& loss, const Tensor& mask, const Denominators& total);
// Σ m·l / (B·max_length): no length bias (Dr. GRPO).
Tensor constant_length_mean(const Tensor& loss, const Tensor& mask, const Denominators& total);
// 1/B Σ_i Σ_t m·l: the gradient of the sequence objective itself.
Tensor sequence_sum(const Tensor& loss, const Tensor& mask, const Denominators& total);

// -(1/B) Σ_b Σ_t mask·A·log π, which is log_prob_loss aggregated as sequence_sum. Its gradient is the score-function
// estimate of -∇ E[return] (Williams 1992).
Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask = {});

}  // namespace pg::rl

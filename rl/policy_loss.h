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

// Two-sided clip: -min(min(ρ, delta)·A, clip(ρ, 1 - low, 1 + high)·A). Where A < 0 the unclipped branch would grow with
// ρ without bound; here ρ counts as at most delta > 1 + high (Prime Intellect 2025, INTELLECT-2, arXiv:2505.07291).
Tensor two_sided_clip_loss(const Tensor& ratio, const Tensor& advantage, double low = 0.2, double high = 0.2,
                           double delta = 4);
// SAPO: -(4/τ)·σ(τ·(ρ - 1))·A, a smooth gate in place of the clip: its slope is 1 at ρ = 1 and falls on both sides. τ
// is tau_positive where A > 0, tau_negative elsewhere (Gao et al. 2025, arXiv:2511.20347).
Tensor sapo_loss(const Tensor& ratio, const Tensor& advantage, double tau_positive = 1, double tau_negative = 1.05);
// GMPO: -A·exp(mean over the response of min-sided clip(log ρ, -low, high)) [B, 1], A the mean advantage of the
// response. The clip acts where it lowers sign(A)·log ρ (Zhao et al. 2025, arXiv:2507.20673).
Tensor gmpo_loss(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& advantage, double low = 0.4,
                 double high = 0.4, const Tensor& mask = {});

// ---- weight: a constant factor for the difference between the policy before the update and the sampler

// exp(old - sampler) [B, T], not capped: decoupled PPO, in which the ratio is taken to the policy before the update and
// the samples are from an older one (Hilton et al. 2021, arXiv:2110.00641).
Tensor importance_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask = {});
// exp(old - sampler) [B, T] where that is in [low, high], 0 elsewhere: IcePop (Ling Team 2025, arXiv:2510.18855).
Tensor masked_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double low = 0.5, double high = 5,
                     const Tensor& mask = {});
// min(exp(Σ_t (old - sampler)), cap) [B, 1]: one weight per response (Yao et al. 2025, as below).
Tensor sequence_truncated_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double cap = 2,
                                 const Tensor& mask = {});
// exp(Σ_t (old - sampler)) [B, 1] where that is at most cap, 0 elsewhere: responses too far from the sampler's
// distribution are left out.
Tensor sequence_masked_weight(const Tensor& old_log_prob, const Tensor& sampler_log_prob, double cap = 2,
                              const Tensor& mask = {});
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

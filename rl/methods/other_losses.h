#pragma once
// The losses beside those of the policy: of a critic, of a reward model, and of DPO.
#include "autograd/ops.h"
#include "tensor/base/fields.h"

namespace pg::rl {

// Per slot (v - R)² / 2. With clip > 0 it is the larger of that and ((old + clamp(v - old, ±clip)) - R)² / 2: a step
// gains nothing by moving v far from its value at rollout (Schulman's implementation of PPO; Engstrom et al. 2020,
// arXiv:2005.12729, found that it does not help). values, old_values and returns have one shape; returns and old_values
// are constants. Slots where the mask (u8; undefined: all 1) is 0 may hold anything and are 0 in the result. Average
// with aggregate().
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values = {}, double clip = 0,
                  const Tensor& mask = {});

// The number of unmasked slots whose value_loss is that of the clipped value: v moved more than `clip` away from old
// and towards the return, so it gets no gradient. 0 with clip 0.
double clipped_values(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                      const Tensor& mask = {});

// 1 - Var(R - V) / Var(R) over the unmasked slots: 1 is perfect, 0 is as good as predicting the mean, below 0 is worse.
// NaN when all returns are equal.
double explained_variance(const Tensor& values, const Tensor& returns, const Tensor& mask = {});

// Reward model loss: -log σ(r_c - r_r - margin) + centring·(r_c + r_r)² per pair [N] (Bradley & Terry 1952; Ouyang et
// al. 2022, arXiv:2203.02155). chosen and rejected [N] are scores. margin [N] is how much better the chosen response is
// (Touvron et al. 2023, arXiv:2307.09288). centring keeps scores near 0; .01 is usual (Eisenstein et al. 2023,
// arXiv:2312.09244).
Tensor bradley_terry_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& margin = {}, double centring = 0);

enum class DpoKind : uint8_t {
  sigmoid,  // -(1-e)·log σ(βΔ) - e·log σ(-βΔ): DPO (Rafailov et al. 2023, arXiv:2305.18290); e > 0 is cDPO
  robust,   // [-(1-e)·log σ(βΔ) + e·log σ(-βΔ)] / (1-2e): unbiased under flipped labels (arXiv:2403.00409)
  hinge,    // max(0, 1 - βΔ): SLiC (arXiv:2305.10425)
  ipo,      // (Δ - 1/(2β))² (Azar et al. 2023, arXiv:2310.12036)
};
struct DpoOptions {
  DpoKind kind = DpoKind::sigmoid;
  double beta = 0.1;
  double label_smoothing = 0;  // e in [0, 1/2): the assumed share of flipped labels; for sigmoid and robust
};
std::vector<Field> fields(DpoOptions& options);
struct DpoLoss {
  Tensor loss;                            // [N]; sigmoid: ln 2 exactly while π = ref
  Tensor chosen_reward, rejected_reward;  // β·(log π - log ref) [N], without gradient
};
// Δ = (log π_c - log ref_c) - (log π_r - log ref_r). The log-probabilities [N] are *summed* over the response's tokens,
// including EOS (TRL averages them for IPO, the paper sums).
DpoLoss dpo_loss(const Tensor& chosen, const Tensor& rejected, const Tensor& ref_chosen, const Tensor& ref_rejected,
                 const DpoOptions& options = {});

}  // namespace pg::rl

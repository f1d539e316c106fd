#pragma once
// Losses whose gradient is a policy gradient; all are to be minimised. B episodes, T steps.
#include "autograd/ops.h"

namespace pg::rl {

// -(1/B) Σ_b Σ_t mask·A·log π: its gradient is the score-function estimate of -∇ E[return] (Williams 1992). log_prob
// [B, T]; advantage [B, T], or [B, 1] for one value per episode, taken as a constant; mask u8 [B, T], undefined: all 1.
// The loss value itself means nothing.
Tensor reinforce_loss(const Tensor& log_prob, const Tensor& advantage, const Tensor& mask = {});

}  // namespace pg::rl

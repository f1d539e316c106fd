#pragma once
// The value loss of a critic.
#include "autograd/ops.h"

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

}  // namespace pg::rl

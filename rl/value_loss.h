#pragma once
// What a critic minimises.
#include "autograd/ops.h"

namespace pg::rl {

// Per slot (v - R)² / 2, and with clip > 0 the larger of that and of ((old + clamp(v - old, ±clip)) - R)² / 2: a step
// may not move v far from what it was at rollout and gain by it (Schulman's implementation of PPO; Engstrom et al.
// 2020, arXiv:2005.12729, found no help in it). values, old_values, returns of one shape; returns and old are
// constants. Slots where the mask (u8; undefined: all 1) is 0 may hold anything and come back as 0. Average with
// aggregate().
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values = {}, double clip = 0,
                  const Tensor& mask = {});

// The number of slots of the mask whose value_loss is that of the clipped value: v moved more than `clip` away from old
// and towards the return, so it gets no gradient. 0 with clip 0.
double clipped_values(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                      const Tensor& mask = {});

// 1 - Var(R - V) / Var(R) over the slots of the mask: 1 is perfect, 0 as good as the mean, below 0 worse. NaN when all
// returns are equal.
double explained_variance(const Tensor& values, const Tensor& returns, const Tensor& mask = {});

}  // namespace pg::rl

#pragma once
// What a sampled action is worth. B episodes, T steps; rewards of steps after an episode's end are 0.
#include "tensor/tensor.h"

namespace pg::rl {

// Return-to-go G_t = Σ_{t' >= t} gamma^(t'-t) r_t': rewards [B, T] → [B, T]. An action is credited with what came after
// it only (Williams 1992, "Simple statistical gradient-following algorithms", REINFORCE). No gradient flows through.
Tensor return_to_go(const Tensor& rewards, double gamma = 1);

// A baseline that follows the mean return: b = Σ_k decay^(n-k) r_k / Σ_k decay^(n-k) over the batches seen so far. A
// batch is compared with the baseline of the batches before it: b must not depend on the episode it is subtracted from,
// else the gradient is biased.
class MovingBaseline {
 public:
  // sum and weight: those of an earlier baseline, to go on from.
  explicit MovingBaseline(double decay = 0.9, double sum = 0, double weight = 0);
  // returns of any shape → returns - value(), then learns their mean.
  Tensor advantage(const Tensor& returns);
  double value() const { return weight_ > 0 ? sum_ / weight_ : 0; }  // 0 before the first batch
  double sum() const { return sum_; }
  double weight() const { return weight_; }

 private:
  double decay_, sum_, weight_;
};

}  // namespace pg::rl

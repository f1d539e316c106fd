#pragma once
// The learning rate of a step.
#include <cmath>
#include <cstdint>
#include <numbers>

namespace pg {

struct Schedule {
  enum class Kind : uint8_t { constant, linear, cosine };
  Kind kind = Kind::cosine;
  double lr = 1e-3;            // the highest
  double min_lr = 1e-4;        // the floor, from decay_steps on; unused when constant
  int64_t warmup_steps = 0;    // linear rise; step 0 already moves
  int64_t decay_steps = 2000;  // where the floor is reached

  // step counts from 0. nanoGPT's get_lr (train.py), with its cosine replaceable by a straight line.
  double at(int64_t step) const {
    if (step < warmup_steps) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps + 1);
    if (kind == Kind::constant) return lr;
    if (step >= decay_steps) return min_lr;
    const double done = static_cast<double>(step - warmup_steps) / static_cast<double>(decay_steps - warmup_steps);
    const double left = kind == Kind::linear ? 1 - done : 0.5 * (1 + std::cos(std::numbers::pi * done));
    return min_lr + left * (lr - min_lr);
  }
};

}  // namespace pg

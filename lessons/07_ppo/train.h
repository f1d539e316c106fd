#pragma once
// The training runs of the demonstration: the engine's PPO, rl::EnvTrainer, with the lesson's functions in it.
#include "lessons/07_ppo/lesson.h"
#include "rl/control/trainer.h"

namespace pg::lesson07 {

rl::EnvFunctions functions_of(const Impl& impl);

// Ablations: each takes one part out of PPO by replacing a function.
void remove_clip(rl::EnvFunctions& functions);              // the policy loss is -ratio·A
void treat_truncation_as_end(rl::EnvFunctions& functions);  // gae sees truncated episodes as terminated

struct Curve {
  // One element per rollout. returns: mean of the last hundred episodes, 0 before the first episode ends.
  std::vector<double> steps, returns, entropy, explained_variance, kl, clipped, gradient_norm, value_loss;
  double worst_first_ratio = 0;  // largest EnvReport::first_ratio_error of all updates
  double last() const { return returns.back(); }
  double mean() const;  // of the returns: measures both speed and level of learning
};
// Trains to the end of the configuration's steps.
Curve train(rl::EnvTrainer& trainer);

}  // namespace pg::lesson07

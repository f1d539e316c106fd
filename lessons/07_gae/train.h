#pragma once
// The training runs of the demonstrations of lessons 7 and 7b: the engine's PPO, rl::EnvTrainer, with some of its
// functions replaced.
#include <algorithm>
#include <numeric>
#include <vector>

#include "lessons/kit/demo.h"
#include "rl/control/trainer.h"

namespace pg::lesson07 {

// GAE sees truncated episodes as terminated.
inline void treat_truncation_as_end(rl::EnvFunctions& functions) {
  functions.gae = [gae = functions.gae](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                                        const rl::GaeOptions& options) {
    rl::GaeOptions changed = options;
    changed.terminated = maximum(options.terminated.to(f32), options.truncated.to(f32)).to(u8);
    return gae(rewards, values, next_values, changed);
  };
}

// CleanRL's recipe for CartPole with the reader's settings.
inline rl::EnvTrainConfig recipe(const kit::Demo& demo) {
  rl::EnvTrainConfig config;
  config.gamma = demo.setting("gamma");
  config.lambda = demo.setting("lambda");
  config.clip_low = config.clip_high = demo.setting("clip");
  config.lr = demo.setting("lr");
  return config;
}

struct Curve {
  // One element per rollout. returns: mean of the last hundred episodes, 0 before the first episode ends.
  std::vector<double> steps, returns, entropy, explained_variance, kl, clipped, gradient_norm, value_loss;
  double worst_first_ratio = 0;  // largest EnvReport::first_ratio_error of all updates
  double last() const { return returns.back(); }
  // The mean of the returns measures both the speed and the level of learning.
  double mean() const {
    return std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size());
  }
};
// Trains to the end of the configuration's steps.
inline Curve train(rl::EnvTrainer& trainer) {
  Curve curve;
  while (!trainer.done()) {
    const rl::EnvReport report = trainer.step();
    curve.steps.push_back(static_cast<double>(report.steps));
    curve.returns.push_back(report.episodes > 0 ? report.episode_return : 0);
    curve.entropy.push_back(report.entropy);
    curve.explained_variance.push_back(report.explained_variance);
    curve.kl.push_back(report.k3);
    curve.clipped.push_back(report.clip_low + report.clip_high);
    curve.gradient_norm.push_back(report.grad_norm);
    curve.value_loss.push_back(report.value_loss);
    curve.worst_first_ratio = std::max(curve.worst_first_ratio, report.first_ratio_error);
  }
  return curve;
}

}  // namespace pg::lesson07

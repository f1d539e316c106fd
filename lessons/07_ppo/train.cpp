// The training runs of the demonstration: rl::EnvTrainer calls the learner's functions.
#include "lessons/07_ppo/train.h"

#include <algorithm>
#include <numeric>

namespace pg::lesson07 {

rl::EnvFunctions functions_of(const Impl& impl) {
  return {.gae = impl.gae,
          .clip_loss = impl.clip_loss,
          .value_loss = impl.value_loss,
          .gaussian_log_prob = impl.gaussian_log_prob};
}

void remove_clip(rl::EnvFunctions& functions) {
  functions.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double, double) {
    return rl::ratio_loss(ratio, advantage);
  };
}

void treat_truncation_as_end(rl::EnvFunctions& functions) {
  functions.gae = [gae = functions.gae](const Tensor& rewards, const Tensor& values, const Tensor& next_values,
                                        const GaeOptions& options) {
    GaeOptions changed = options;
    changed.terminated = maximum(options.terminated.to(f32), options.truncated.to(f32)).to(u8);
    return gae(rewards, values, next_values, changed);
  };
}

double Curve::mean() const {
  return std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size());
}

Curve train(rl::EnvTrainer& trainer) {
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

// The demonstration of lesson 7b: properties of the first step, CartPole, and what the clips do.
#include "lessons/07b_ppo/demo.h"

#include <cmath>

#include "lessons/07_gae/ablations.h"
#include "lessons/07_gae/cartpole.h"

namespace pg::lesson07b {

rl::EnvFunctions functions_of(const Impl& impl) {
  return {.clip_loss = impl.clip_loss, .value_loss = impl.value_loss, .gaussian_log_prob = impl.gaussian_log_prob};
}

void remove_clip(rl::EnvFunctions& functions) {
  functions.clip_loss = [](const Tensor& ratio, const Tensor& advantage, double, double) {
    return rl::ratio_loss(ratio, advantage);
  };
}

namespace {

constexpr Variant kNoClip{"no clip", [](auto&, auto& functions) { remove_clip(functions); }};
constexpr Variant kNoValueClip{"no value clip", [](auto& config, auto&) { config.value_clip = 0; }};

void show_first_step(kit::Demo& demo, const Impl& impl) {
  demo.heading("The first step is the policy gradient");
  rl::EnvTrainConfig config;
  config.epochs = config.minibatches = 1;       // one update on the whole rollout
  config.value_coef = config.entropy_coef = 0;  // by the policy loss alone
  double worst = 0;
  const auto gradient = [&](double clip) {
    config.clip_low = config.clip_high = clip;
    rl::EnvTrainer trainer(config, functions_of(impl));
    worst = std::max(worst, trainer.step().first_ratio_error);
    std::vector<double> result;
    for (const auto& [name, weight] : named_parameters(trainer.model())) {
      const std::vector<double> part = weight.grad().to_vector();
      result.insert(result.end(), part.begin(), part.end());
    }
    return result;
  };
  const std::vector<double> clipped = gradient(0.2), plain = gradient(0);  // clip 0: the loss is -A·log π
  double difference = 0, norm = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    difference = std::hypot(difference, clipped[i] - plain[i]);
    norm = std::hypot(norm, plain[i]);
  }
  demo.say(
      "512 steps of CartPole: the policy balances a pole on a cart. The reward is 1 per step, and an episode has at "
      "most 500 steps. Before the first update the ratio, π(action) now / π(action) when it was sampled, must be "
      "exactly 1, because the network and its inputs are the same. At a ratio of 1 the loss of PPO has the gradient of "
      "REINFORCE. If one of the two claims fails in your own code, fix that first.");
  demo.claim("largest |ratio - 1| before the first update", worst, "", kit::equals(0));
  demo.claim("gradient of PPO away from that of -A·log π, relative", difference / norm, "", kit::at_most(1e-5));
}

void show_clips(kit::Demo& demo, const Impl& impl) {
  demo.heading("Which parts of PPO matter");
  const Pace pace = slow_pace(demo);
  demo.say(
      "{} steps of CartPole without one of the clips, {} seeds, with CleanRL's hyperparameters. The mean return over "
      "the whole run measures how fast a policy learns:",
      pace.steps, pace.seeds);
  const std::vector<Variant> variants = {kEverything, kNoClip, kNoValueClip};
  table(demo, functions_of(impl), pace, variants);
  demo.say(
      "The differences are near the spread of the seeds: the updates are so small that few ratios are clipped. This "
      "does not hold for every problem; see the pendulum below.");
  if (!demo.full()) return;
  demo.gap();
  demo.say("{} steps with ten times the learning rate:", fast_pace(demo).steps);
  table(demo, functions_of(impl), fast_pace(demo), variants);
}

void demo(kit::Demo& demo, const Impl& impl) {
  show_first_step(demo, impl);
  show_cartpole(demo, functions_of(impl));
  show_clips(demo, impl);
  show_robots(demo, impl);
}

}  // namespace
}  // namespace pg::lesson07b

int main(int argc, char** argv) {
  using namespace pg::lesson07b;
  return pg::kit::run_lesson(
      pg::kit::Lesson<Impl>{
          .number = "7b",
          .folder = "lessons/07b_ppo",
          .title = "PPO",
          .reference = reference(),
          .checks = checks(),
          .demo = demo,
          .hunt = [](pg::kit::Demo& demo, const Impl& impl) { show_cartpole(demo, functions_of(impl)); },
          .settings = pg::lesson07::cartpole_settings()},
      argc, argv);
}

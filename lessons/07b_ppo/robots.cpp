// The demonstration of lesson 7b, last part: torques instead of discrete actions.
#include <cmath>
#include <numbers>

#include "lessons/07_gae/drawings.h"
#include "lessons/07b_ppo/demo.h"
#include "lessons/kit/plot.h"

namespace pg::lesson07b {
namespace {

Curve train_and_plot(kit::Demo& demo, rl::EnvTrainer& trainer, const std::string& name) {
  const Curve curve = train(trainer);
  demo.show(kit::line_plot({demo.on_band({.name = name, .y = curve.returns, .x = curve.steps})},
                           {.x_label = "steps", .y_label = "return, last 100", .height = 10}));
  return curve;
}

std::string draw_pendulum(const Episode& episode) {
  return four_frames(episode, window(3, 0), [](const std::vector<double>& seen, kit::Sketch& sketch) {
    sketch.caption += fmt::format(": {}°", std::abs(degrees(std::atan2(seen[1], seen[0]))));
    sketch.lines = {{0, 0, seen[1], seen[0]}};
    sketch.crosses = {{0, 0}};
  });
}

// The two links and, as +, the target.
std::string draw_arm(const Episode& episode) {
  return four_frames(episode, window(2.9, 0), [](const std::vector<double>& seen, kit::Sketch& sketch) {
    const double q1 = std::atan2(seen[1], seen[0]), q2 = std::atan2(seen[3], seen[2]);
    const double x = ArmReach::kLink * std::cos(q1), y = ArmReach::kLink * std::sin(q1);
    const auto hand = ArmReach::hand(q1, q2);
    sketch.caption += fmt::format(": {:.0f} cm", 100 * std::hypot(hand[0] - seen[6], hand[1] - seen[7]));
    sketch.lines = {{0, 0, x, y}, {x, y, hand[0], hand[1]}};
    sketch.crosses = {{seen[6], seen[7]}};
  });
}

// Degrees from upright along an episode of the pendulum.
std::vector<double> degrees_of(const Episode& episode) {
  std::vector<double> degrees;
  for (const auto& seen : episode) degrees.push_back(std::abs(std::atan2(seen[1], seen[0])) * 180 / std::numbers::pi);
  return degrees;
}

rl::EnvTrainConfig config_for(const std::string& environment, int64_t steps) {
  rl::EnvTrainConfig config = rl::env_recipe(environment);
  config.total_steps = steps;
  return config;
}

}  // namespace

void show_robots(kit::Demo& demo, const Impl& impl) {
  demo.heading("Continuous actions: Pendulum-v1");
  demo.say(
      "The motor is too weak to lift the rod, so the policy must swing it up. The policy is a Gaussian distribution of "
      "torques. Each episode is truncated after 200 steps; none terminates. 100,352 steps:");
  demo.status("Pendulum ...");
  rl::EnvTrainConfig config = config_for("Pendulum-v1", 100352);
  config.seed = demo.seeds(1)[0];
  rl::EnvTrainer pendulum(config, functions_of(impl));
  const Curve curve = train_and_plot(demo, pendulum, "PPO on Pendulum");
  demo.gap();
  demo.claim("return of the first rollouts", curve.returns[1], "", kit::at_most(-800));
  demo.claim("return of the last 100 episodes", curve.last(), "", kit::at_least(-400));
  const Episode episode = play(pendulum, "Pendulum-v1", 7);
  const std::vector<double> degrees = degrees_of(episode);
  demo.gap();
  demo.say(
      "The std of the Gaussian has changed from 1 to {:.2f}. One episode with the mean torque, degrees away from "
      "upright:",
      std::exp(pendulum.model().log_std.to_vector()[0]));
  demo.show(draw_pendulum(episode));
  demo.gap();
  demo.show(kit::line_plot({{.name = "angle", .y = degrees}}, {.x_label = "step", .y_label = "degrees", .height = 8}));
  demo.gap();
  double off = 0;
  for (size_t i = degrees.size() - 50; i < degrees.size(); ++i) off += degrees[i] / 50;
  demo.claim("mean angle from upright in the last 50 steps", off, "degrees", kit::at_most(20));

  demo.gap();
  demo.say(
      "The same without the clip. {} passes over each rollout move the policy far from the one that sampled the "
      "actions, unless the clip prevents it{}:",
      config.epochs, demo.full() ? ". And with truncation treated as an end: here every episode is truncated" : "");
  const auto last_return = [&](void (*change)(rl::EnvFunctions&)) {
    rl::EnvFunctions functions = functions_of(impl);
    change(functions);
    rl::EnvTrainer trainer(config, functions);
    return train(trainer).last();
  };
  const auto bar = [](const char* name, double x) { return kit::Bar{name, -x, fmt::format("{:.0f}", x)}; };
  demo.status("no clip ...");
  const double without = last_return(remove_clip);
  std::vector<kit::Bar> bars = {bar("everything", curve.last()), bar("no clip", without)};
  if (demo.full()) bars.push_back(bar("truncation as an end", last_return(treat_truncation_as_end)));
  demo.show(kit::bars(bars));
  demo.gap();
  demo.claim("cost of an episode without the clip / with", without / curve.last(), "x", kit::at_least(1.3));
  if (!demo.full()) return;

  demo.heading("Two torques: an arm of two links");
  demo.say("The hand must reach a target. The return is minus the distance in metres, summed over 100 steps.");
  demo.status("the arm ...");
  rl::EnvTrainer arm(config_for("ArmReach-torque", 204800), functions_of(impl));
  const Curve reach = train_and_plot(demo, arm, "PPO on the arm");
  demo.gap();
  demo.say("One episode with the mean torques; + is the target, and the number its distance from the hand:");
  demo.show(draw_arm(play(arm, "ArmReach-torque", 3)));
  demo.gap();
  demo.claim("return of the last 100 episodes / of the first", reach.last() / reach.returns[1], "", kit::at_most(0.6));
}

}  // namespace pg::lesson07b

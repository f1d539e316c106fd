// The demonstration of lesson 7, third part: torques instead of discrete actions.
#include <cmath>
#include <numbers>

#include "lessons/07_ppo/ppo.h"
#include "lessons/kit/plot.h"
#include "tensor/base/random_stream.h"

namespace pg::lesson07 {
namespace {

Curve train(kit::Demo& demo, Ppo& ppo) {
  const Curve curve = ppo.train();
  demo.show(kit::line_plot({{.name = "PPO", .y = curve.returns, .x = curve.steps}},
                           {.x_label = "steps", .y_label = "return, last 100", .height = 10}));
  return curve;
}

// Degrees from upright along one episode in which the action is the policy's mean torque.
std::vector<double> swing_up(Ppo& ppo) {
  const auto pendulum = make_environment("Pendulum-v1");
  Generator start = random_stream(7, 0);
  std::vector<double> seen = pendulum->reset(start), degrees;
  while (true) {
    degrees.push_back(std::abs(std::atan2(seen[1], seen[0])) * 180 / std::numbers::pi);
    const Tensor x = Tensor::from(ppo.environments().normalized(seen), {1, 3}).to(f32);
    const Transition t = pendulum->step(ppo.model().act(x, nullptr).to_vector());
    if (t.last()) return degrees;
    seen = t.observation;
  }
}

Recipe recipe_for(const std::string& environment, int64_t steps) {
  Recipe recipe{rl::env_recipe(environment)};
  recipe.total_steps = steps;
  return recipe;
}

}  // namespace

void show_robots(kit::Demo& demo, const Impl& impl) {
  demo.heading("A torque is a number: Pendulum-v1");
  demo.say(
      "The motor is too weak to lift the rod, so it must swing. The policy is a bell over torques; each episode is cut "
      "by the clock after 200 steps, none ends. 100,352 steps:");
  demo.status("Pendulum ...");
  Ppo pendulum(impl, recipe_for("Pendulum-v1", 100352));
  const Curve curve = train(demo, pendulum);
  demo.gap();
  demo.claim("return of the first rollouts", curve.returns[1], "", kit::at_most(-800));
  demo.claim("return of the last 100 episodes", curve.last(), "", kit::at_least(-400));
  const std::vector<double> degrees = swing_up(pendulum);
  demo.say("The bell's std has gone from 1 to {:.2f}. One episode with the mean torque, degrees away from upright:",
           std::exp(pendulum.model().log_std.to_vector()[0]));
  demo.show(kit::line_plot({{.name = "angle", .y = degrees}}, {.x_label = "step", .y_label = "degrees", .height = 8}));
  demo.gap();
  double off = 0;
  for (size_t i = degrees.size() - 50; i < degrees.size(); ++i) off += degrees[i] / 50;
  demo.claim("mean angle from upright in the last 50 steps", off, "degrees", kit::at_most(20));

  demo.say(
      "The same without the clip. Here {} passes over each rollout go far from the policy that drew it, and the clip "
      "is "
      "what holds the policy back{}:",
      recipe_for("Pendulum-v1", 0).epochs,
      demo.full() ? ". And with the clock taken for an end, where every episode is cut by the clock" : "");
  Recipe unclipped = recipe_for("Pendulum-v1", 100352), clock_ends = unclipped;
  unclipped.clip = kNoClip;
  clock_ends.truncation_ends = true;
  const auto bar = [](const char* name, double x) { return kit::Bar{name, -x, fmt::format("{:.0f}", x)}; };
  demo.status("no clip ...");
  const double without = Ppo(impl, unclipped).train().last();
  std::vector<kit::Bar> bars = {bar("everything", curve.last()), bar("no clip", without)};
  if (demo.full()) bars.push_back(bar("truncation as an end", Ppo(impl, clock_ends).train().last()));
  demo.show(kit::bars(bars));
  demo.gap();
  demo.claim("cost of an episode without the clip / with", without / curve.last(), "x", kit::at_least(1.3));
  if (!demo.full()) return;

  demo.heading("Two torques: an arm of two links");
  demo.say("The hand shall go to a target. Return: minus the distance in metres, summed over 100 steps.");
  demo.status("the arm ...");
  Ppo arm(impl, recipe_for("ArmReach-torque", 204800));
  const Curve reach = train(demo, arm);
  demo.gap();
  demo.claim("return of the last 100 episodes / of the first", reach.last() / reach.returns[1], "", kit::at_most(0.6));
}

}  // namespace pg::lesson07

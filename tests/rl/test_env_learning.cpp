// Policies learn in environments: a short test, and the thresholds of docs/benchmarks/LEARNING.md.
#include <fmt/format.h>

#include "rl/control/trainer.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::rl;

TEST_CASE("CartPole is half learned in a second", "[env][trainer]") {
  EnvTrainConfig c = env_recipe("CartPole-v1");
  c.total_steps = 60000;
  EnvTrainer trainer(c);
  EnvReport report;
  while (!trainer.done()) report = trainer.step();
  CHECK(report.episode_return > 120);  // 22 for a random policy; 220 is usual without such early annealing
  CHECK(report.explained_variance <= 1);
}

// The curves of docs/benchmarks/LEARNING.md. Hidden by its tag, because it takes two or three minutes in total.
TEST_CASE("the recipes reach their bars on three seeds", "[.curve][slow]") {
  const std::vector<std::pair<std::string, double>> bars = {
      {"CartPole-v1", 475},  {"Acrobot-v1", -100},     {"MountainCar-v0", -200},
      {"Pendulum-v1", -200}, {"ArmReach-torque", -30}, {"ArmReach-velocity", -30},
  };
  for (const auto& [name, bar] : bars) {
    for (uint64_t seed : {1, 2, 3}) {
      EnvTrainConfig c = env_recipe(name);
      c.seed = seed;
      EnvTrainer trainer(c);
      EnvReport report;
      std::string curve;
      double seconds = 0;
      while (!trainer.done()) {
        report = trainer.step();
        seconds += static_cast<double>(c.environments * c.rollout_steps) / report.steps_per_second;
        if (report.steps * 5 / c.total_steps > (report.steps - c.environments * c.rollout_steps) * 5 / c.total_steps ||
            trainer.done()) {
          curve += fmt::format("  {}: {:.1f}", report.steps, report.episode_return);
        }
      }
      fmt::print("{} seed {}{}  ({:.1f} s)\n", name, seed, curve, seconds);
      INFO(name << ", seed " << seed);
      CHECK(report.episode_return >= bar);
    }
  }
}

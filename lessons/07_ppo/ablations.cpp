// The demonstration of lesson 7, second part: which parts of PPO matter.
#include <algorithm>
#include <vector>

#include "lessons/07_ppo/train.h"
#include "lessons/kit/plot.h"

namespace pg::lesson07 {
namespace {

struct Variant {
  const char* name;
  void (*change)(rl::EnvTrainConfig&, rl::EnvFunctions&);
};
constexpr Variant kEverything{"everything", [](auto&, auto&) {}};
constexpr Variant kNoLambda{"lambda = 0", [](auto& config, auto&) { config.lambda = 0; }};
constexpr Variant kFullLambda{"lambda = 1", [](auto& config, auto&) { config.lambda = 1; }};
constexpr Variant kNoClip{"no clip", [](auto&, auto& functions) { remove_clip(functions); }};
constexpr Variant kNoValueClip{"no value clip", [](auto& config, auto&) { config.value_clip = 0; }};
constexpr Variant kTruncationAsEnd{"truncation as an end",
                                   [](auto&, auto& functions) { treat_truncation_as_end(functions); }};

// Settings of a table: the length of its runs, their learning rate relative to the recipe, and the number of seeds.
struct Pace {
  int64_t steps;
  double lr_factor;
  uint64_t seeds;
};

struct Result {
  double mean = 0, worst = 1e9, best = -1e9;  // return over the whole run: of all seeds, and of the two extremes
  double last = 0, upright = 0;
};
Result train_all_seeds(const Impl& impl, const Variant& variant, const Pace& pace) {
  Result result;
  for (uint64_t seed = 1; seed <= pace.seeds; ++seed) {
    rl::EnvTrainConfig config;
    config.total_steps = pace.steps;
    config.seed = seed;
    config.lr *= pace.lr_factor;
    rl::EnvFunctions functions = functions_of(impl);
    variant.change(config, functions);
    rl::EnvTrainer trainer(config, functions);
    const Curve curve = train(trainer);
    const double share = 1 / static_cast<double>(pace.seeds);
    result.mean += share * curve.mean();
    result.worst = std::min(result.worst, curve.mean());
    result.best = std::max(result.best, curve.mean());
    result.last += share * curve.last();
    result.upright += share * trainer.model().value(Tensor::zeros({1, 4})).item();
  }
  return result;
}

std::vector<Result> table(kit::Demo& demo, const Impl& impl, const Pace& pace, const std::vector<Variant>& variants) {
  std::vector<Result> results;
  demo.line("{:<22}{:>11}{:>18}{:>11}{:>14}", "", "whole run", "worst to best", "last 100", "V(upright)");
  for (const Variant& variant : variants) {
    demo.status(fmt::format("{} ...", variant.name));
    const Result r = train_all_seeds(impl, variant, pace);
    demo.line("{:<22}{:>11.0f}{:>18}{:>11.0f}{:>14.1f}", variant.name, r.mean,
              pace.seeds > 1 ? fmt::format("{:.0f} to {:.0f}", r.worst, r.best) : "", r.last, r.upright);
    results.push_back(r);
  }
  demo.gap();
  return results;
}

}  // namespace

void show_ablations(kit::Demo& demo, const Impl& impl) {
  const Pace slow_pace{60000, 1, demo.full() ? 3u : 2u}, fast_pace{100000, 10, demo.full() ? 3u : 1u};
  demo.heading("Which parts of PPO matter");
  demo.say(
      "{} steps of CartPole without one part of PPO, {} seeds. The mean return over the whole run measures how fast a "
      "policy learns. With CleanRL's hyperparameters:",
      slow_pace.steps, slow_pace.seeds);
  std::vector<Variant> variants = {kEverything, kNoLambda, kFullLambda, kNoClip, kNoValueClip};
  if (demo.full()) variants.push_back(kTruncationAsEnd);
  const auto slow = table(demo, impl, slow_pace, variants);
  demo.say(
      "With lambda = 0 an advantage depends on one reward and on the values of the critic, which learns slowly here. "
      "With lambda = 1 the noise of the whole return makes learning slower. The other differences are near the spread "
      "of the seeds: the updates are so small that few ratios are clipped. This does not hold for every problem; see "
      "the pendulum below.");
  demo.claim("lambda = 0, return over the whole run / everything", slow[1].mean / slow[0].mean, "", kit::at_most(0.6));
  demo.gap();
  demo.say(
      "In {} steps with ten times the learning rate the critic has time to learn the value of an upright pole. If "
      "truncation is treated as an end, that value should be 80, the mean of (1 - 0.99^n) / (1 - 0.99) over n = 1 to "
      "500 remaining steps:",
      fast_pace.steps);
  variants = {kEverything, kTruncationAsEnd};
  if (demo.full()) variants.insert(variants.end(), {kNoClip, kNoLambda, kFullLambda, kNoValueClip});
  const auto fast = table(demo, impl, fast_pace, variants);
  demo.claim("V of the upright pole at rest, everything", fast[0].upright, "", kit::at_least(90));
  demo.claim("the same, truncation as an end", fast[1].upright, "", kit::at_most(90));
}

}  // namespace pg::lesson07

// The demonstration of lesson 7, second part: which parts of PPO matter, and which hardly do.
#include <algorithm>
#include <vector>

#include "lessons/07_ppo/ppo.h"
#include "lessons/kit/plot.h"

namespace pg::lesson07 {
namespace {

struct Variant {
  const char* name;
  void (*change)(Recipe&);
};
constexpr Variant kEverything{"everything", [](Recipe&) {}};
constexpr Variant kNoLambda{"lambda = 0", [](Recipe& r) { r.lambda = 0; }};
constexpr Variant kFullLambda{"lambda = 1", [](Recipe& r) { r.lambda = 1; }};
constexpr Variant kUnclipped{"no clip", [](Recipe& r) { r.clip = kNoClip; }};
constexpr Variant kFreeValue{"no value clip", [](Recipe& r) { r.value_clip = 0; }};
constexpr Variant kClockEnds{"truncation as an end", [](Recipe& r) { r.truncation_ends = true; }};

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
Result train(const Impl& impl, const Variant& variant, const Pace& pace) {
  Result result;
  for (uint64_t seed = 1; seed <= pace.seeds; ++seed) {
    Recipe recipe;
    recipe.total_steps = pace.steps;
    recipe.seed = seed;
    recipe.lr *= pace.lr_factor;
    variant.change(recipe);
    Ppo ppo(impl, recipe);
    const Curve curve = ppo.train();
    const double share = 1 / static_cast<double>(pace.seeds);
    result.mean += share * curve.mean();
    result.worst = std::min(result.worst, curve.mean());
    result.best = std::max(result.best, curve.mean());
    result.last += share * curve.last();
    result.upright += share * ppo.model().value(Tensor::zeros({1, 4})).item();
  }
  return result;
}

std::vector<Result> table(kit::Demo& demo, const Impl& impl, const Pace& pace, const std::vector<Variant>& variants) {
  std::vector<Result> results;
  demo.line("{:<22}{:>11}{:>18}{:>11}{:>14}", "", "whole run", "worst to best", "last 100", "V(upright)");
  for (const Variant& variant : variants) {
    demo.status(fmt::format("{} ...", variant.name));
    const Result r = train(impl, variant, pace);
    demo.line("{:<22}{:>11.0f}{:>18}{:>11.0f}{:>14.1f}", variant.name, r.mean,
              pace.seeds > 1 ? fmt::format("{:.0f} to {:.0f}", r.worst, r.best) : "", r.last, r.upright);
    results.push_back(r);
  }
  demo.gap();
  return results;
}

}  // namespace

void show_ablations(kit::Demo& demo, const Impl& impl) {
  const Pace calm{60000, 1, demo.full() ? 3u : 2u}, hasty{100000, 10, demo.full() ? 3u : 1u};
  demo.heading("What matters, and what hardly does");
  demo.say(
      "{} steps of CartPole with one thing taken away, {} seeds. The return over the whole run says how fast a policy "
      "learned. With CleanRL's recipe:",
      calm.steps, calm.seeds);
  std::vector<Variant> variants = {kEverything, kNoLambda, kFullLambda, kUnclipped, kFreeValue};
  if (demo.full()) variants.push_back(kClockEnds);
  const auto slow = table(demo, impl, calm, variants);
  demo.say(
      "lambda = 0 learns only of what the critic already knows, and here the critic is slow. The rest is near the "
      "spread of the seeds: with steps so small the clip has little to do. Do not believe that of every problem; see "
      "the pendulum below.");
  demo.claim("lambda = 0, return over the whole run / everything", slow[1].mean / slow[0].mean, "", kit::at_most(0.6));
  demo.gap();
  demo.say(
      "And what of the clock? In {} steps with ten times the learning rate the critic has time to find out what "
      "a standing pole is worth. Taking the clock for a fall should make it 80, the mean of (1 - 0.99^n) / (1 - 0.99) "
      "over n = 1 to 500 steps left:",
      hasty.steps);
  variants = {kEverything, kClockEnds};
  if (demo.full()) variants.insert(variants.end(), {kUnclipped, kNoLambda, kFullLambda, kFreeValue});
  const auto fast = table(demo, impl, hasty, variants);
  demo.claim("V of the pole that stands still, everything", fast[0].upright, "", kit::at_least(90));
  demo.claim("the same, truncation as an end", fast[1].upright, "", kit::at_most(90));
}

}  // namespace pg::lesson07

// The demonstration of lesson 7, second part: what matters, and what hardly does.
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
constexpr int64_t kSteps = 80000;

struct Result {
  double mean = 0, worst = 1e9, best = -1e9;  // return over the whole run: of all seeds, and of the two extremes
  double last = 0, upright = 0;
};
Result train(const Impl& impl, const Variant& variant, double lr_factor, uint64_t seeds) {
  Result result;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Recipe recipe;
    recipe.total_steps = kSteps;
    recipe.seed = seed;
    recipe.lr *= lr_factor;
    variant.change(recipe);
    Ppo ppo(impl, recipe);
    const Curve curve = ppo.train();
    const double share = 1 / static_cast<double>(seeds);
    result.mean += share * curve.mean();
    result.worst = std::min(result.worst, curve.mean());
    result.best = std::max(result.best, curve.mean());
    result.last += share * curve.last();
    result.upright += share * ppo.model().value(Tensor::zeros({1, 4})).item();
  }
  return result;
}

std::vector<Result> table(kit::Demo& demo, const Impl& impl, double lr_factor, const std::vector<Variant>& variants) {
  std::vector<Result> results;
  demo.line("{:<22}{:>11}{:>18}{:>11}{:>14}", "", "whole run", "worst to best", "last 100", "V(upright)");
  for (const Variant& variant : variants) {
    demo.status(fmt::format("{} ...", variant.name));
    const Result r = train(impl, variant, lr_factor, demo.full() ? 3 : 2);
    demo.line("{:<22}{:>11.0f}{:>18}{:>11.0f}{:>14.1f}", variant.name, r.mean,
              fmt::format("{:.0f} to {:.0f}", r.worst, r.best), r.last, r.upright);
    results.push_back(r);
  }
  demo.gap();
  return results;
}

}  // namespace

void show_ablations(kit::Demo& demo, const Impl& impl) {
  demo.heading("What matters, and what hardly does");
  demo.say(
      "{} steps of CartPole with one thing taken away, {} seeds. The return over the whole run says how fast a policy "
      "learned. First with CleanRL's recipe:",
      kSteps, demo.full() ? 3 : 2);
  std::vector<Variant> variants = {kEverything, kNoLambda, kFullLambda, kUnclipped, kFreeValue};
  if (demo.full()) variants.push_back(kClockEnds);
  const auto calm = table(demo, impl, 1, variants);
  demo.claim("lambda = 0, return over the whole run / everything", calm[1].mean / calm[0].mean, "", kit::at_most(0.6));
  demo.say(
      "GAE matters: with lambda = 0 an action learns only of what the critic already knows. The recipe takes steps so "
      "small that the clip has little to do, and the value clip mostly holds the critic back. Now ten times its "
      "learning rate, where there is something to be afraid of:");
  variants = {kEverything, kUnclipped, kClockEnds};
  if (demo.full()) variants.insert(variants.end(), {kNoLambda, kFullLambda, kFreeValue});
  const auto hasty = table(demo, impl, 10, variants);
  demo.claim("no clip, return over the whole run / everything", hasty[1].mean / hasty[0].mean, "", kit::at_most(0.9));
  demo.claim("V of the pole that stands still, everything", hasty[0].upright, "", kit::at_least(90));
}

}  // namespace pg::lesson07

#pragma once
// CartPole without one part of PPO, for the demonstrations of lessons 7 and 7b.
#include <algorithm>
#include <string>
#include <vector>

#include "lessons/07_gae/train.h"
#include "lessons/kit/demo.h"

namespace pg::lesson07 {

struct Variant {
  const char* name;
  void (*change)(rl::EnvTrainConfig&, rl::EnvFunctions&);
};
constexpr Variant kEverything{"everything", [](auto&, auto&) {}};

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
inline Result train_all_seeds(const kit::Demo& demo, const rl::EnvFunctions& all, const Variant& variant,
                              const Pace& pace) {
  Result result;
  for (const uint64_t seed : demo.seeds(pace.seeds)) {
    rl::EnvTrainConfig config = recipe(demo);
    config.total_steps = pace.steps;
    config.seed = seed;
    config.lr *= pace.lr_factor;
    rl::EnvFunctions functions = all;
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

// Trains each variant and prints its row.
inline std::vector<Result> table(kit::Demo& demo, const rl::EnvFunctions& functions, const Pace& pace,
                                 const std::vector<Variant>& variants) {
  std::vector<Result> results;
  demo.line("{:<22}{:>11}{:>18}{:>11}{:>14}", "", "whole run", "worst to best", "last 100", "V(upright)");
  for (const Variant& variant : variants) {
    demo.status(fmt::format("{} ...", variant.name));
    const Result r = train_all_seeds(demo, functions, variant, pace);
    demo.line("{:<22}{:>11.0f}{:>18}{:>11.0f}{:>14.1f}", variant.name, r.mean,
              pace.seeds > 1 ? fmt::format("{:.0f} to {:.0f}", r.worst, r.best) : "", r.last, r.upright);
    results.push_back(r);
  }
  demo.gap();
  return results;
}

// Short runs with CleanRL's hyperparameters, and longer ones with ten times the learning rate.
inline Pace slow_pace(const kit::Demo& demo) { return {60000, 1, demo.full() ? 3u : 2u}; }
inline Pace fast_pace(const kit::Demo& demo) { return {100000, 10, demo.full() ? 3u : 1u}; }

}  // namespace pg::lesson07

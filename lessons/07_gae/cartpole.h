#pragma once
// CartPole with CleanRL's recipe, for the demonstrations of lessons 7 and 7b.
#include <algorithm>
#include <string>
#include <vector>

#include "lessons/07_gae/drawings.h"
#include "lessons/07_gae/train.h"
#include "lessons/kit/demo.h"
#include "lessons/kit/plot.h"

namespace pg::lesson07 {

// Means of 30 equal parts of x. Values below -1 or not finite count as -1.
inline std::vector<double> thinned(std::vector<double> x) {
  for (double& value : x) value = std::max(-1.0, value);
  return kit::thinned(x, 30);
}

// What an engineer looks at besides the returns.
inline void watch(kit::Demo& demo, const Curve& curve) {
  demo.watch("entropy in nats", curve.entropy);
  demo.watch("explained variance", curve.explained_variance);
  demo.watch("KL from the policy that acted", curve.kl);
  demo.watch("share of clipped ratios", curve.clipped);
  demo.watch("gradient norm", curve.gradient_norm);
  demo.watch("value loss", curve.value_loss);
}

// The numbers of the recipe that a reader may change.
inline std::vector<kit::Setting> cartpole_settings() {
  return {kit::seed_setting(),
          {"gamma", 0.99, 0, 1, "discount of later rewards"},
          {"lambda", 0.95, 0, 1, "of the advantages: 0 trusts the critic, 1 the returns"},
          {"clip", 0.2, 0.01, 1, "how far the ratio may go from 1"},
          {"lr", 0.00025, 0.00001, 0.1, "learning rate"}};
}

// Trains on CartPole with CleanRL's recipe and shows the curves. What ./lesson7 hunt and ./lesson7b hunt show.
inline void show_cartpole(kit::Demo& demo, const rl::EnvFunctions& functions) {
  const std::vector<uint64_t> seeds = demo.seeds(demo.full() ? 3 : 1);
  demo.heading("CartPole-v1, 500,000 steps");
  kit::Series series{.name = "PPO on CartPole", .y = {}};
  double worst_ratio = 0, mean_of_last = 0, upright = 0;
  std::vector<double> entropy, explained;
  for (const uint64_t seed : seeds) {
    demo.status(fmt::format("CartPole, seed {} of {} ...", seed, seeds.size()));
    rl::EnvTrainConfig config = recipe(demo);
    config.seed = seed;
    rl::EnvTrainer trainer(config, functions);
    const bool draws = seed == seeds[0];
    if (draws) {
      const Episode episode = play(trainer, "CartPole-v1", 1);
      demo.say(
          "The policy pushes the cart to the left or to the right. An episode ends when the pole is 12 degrees from "
          "upright, or the cart 2.4 m from the middle. With its initial weights the pole falls after {} steps:",
          episode.size());
      demo.show(draw_cartpole(episode));
      demo.gap();
    }
    const Curve curve = train(trainer);
    if (draws) {
      const Episode episode = play(trainer, "CartPole-v1", 1);
      demo.say("After 500,000 steps of training, from the same start, an episode has {} steps (500 is the limit):",
               episode.size());
      demo.show(draw_cartpole(episode));
      demo.gap();
    }
    if (seed == seeds[0]) {
      entropy = thinned(curve.entropy);
      explained = thinned(curve.explained_variance);
      watch(demo, curve);
      series.x = curve.steps;
      series.y = curve.returns;
      if (seeds.size() > 1) series.low = series.high = series.y;
    }
    for (size_t i = 0; i < series.low.size(); ++i) {
      series.low[i] = std::min(series.low[i], curve.returns[i]);
      series.high[i] = std::max(series.high[i], curve.returns[i]);
    }
    worst_ratio = std::max(worst_ratio, curve.worst_first_ratio);
    const double share = 1 / static_cast<double>(seeds.size());
    mean_of_last += share * curve.last();
    upright += share * trainer.model().value(Tensor::zeros({1, 4})).item();
  }
  demo.show(kit::line_plot({demo.on_band(series)}, {.x_label = "steps", .y_label = "return, last 100", .height = 12}));
  demo.gap();
  demo.line("entropy            {}  {:.2f} to {:.2f} nats", kit::sparkline(entropy), entropy.front(), entropy.back());
  demo.line("explained variance {}  at most {:.2f}", kit::sparkline(explained),
            *std::max_element(explained.begin(), explained.end()));
  demo.line("Each sign: the mean of a thirtieth of the run; below -1 it is drawn as -1.");
  demo.gap();
  demo.claim("return of the last 100 episodes", mean_of_last, "", kit::at_least(475));
  demo.claim("largest |ratio - 1| at the start of any update", worst_ratio, "", kit::equals(0));
  demo.gap();
  demo.say(
      "Other implementations with the same hyperparameters: CleanRL 490 ± 6, OpenAI's baselines 498 ± 4. If the pole "
      "never falls, the value of the upright pole at rest in the middle is 1 + 0.99 + 0.99² + … = 1 / (1 - 0.99) = "
      "100:");
  demo.claim("V of the upright pole at rest", upright, "", kit::at_least(90));
}

}  // namespace pg::lesson07

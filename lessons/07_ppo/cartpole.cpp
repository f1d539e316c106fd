// The demonstration of lesson 7, first part: properties of the first step, and CartPole with CleanRL's recipe.
#include <algorithm>
#include <cmath>

#include "lessons/07_ppo/ppo.h"
#include "lessons/kit/plot.h"
#include "rl/policy_loss.h"

namespace pg::lesson07 {
namespace {

// Means of `count` equal parts of x. Values below -1 or not finite count as -1.
std::vector<double> thinned(const std::vector<double>& x, size_t count) {
  std::vector<double> result;
  for (size_t part = 0; part < count; ++part) {
    const size_t begin = part * x.size() / count, end = (part + 1) * x.size() / count;
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += std::max(-1.0, x[i]);
    result.push_back(sum / static_cast<double>(end - begin));
  }
  return result;
}

}  // namespace

void show_first_step(kit::Demo& demo, const Impl& impl) {
  demo.heading("The first step is the policy gradient");
  Ppo ppo(impl, Recipe{});
  const Rollout data = ppo.rollout();
  const Tensor advantage = rl::whiten(unsqueeze(data.advantages, 1)), old = unsqueeze(data.log_prob, 1);
  const auto gradient = [&](auto loss) {
    ppo.slab().zero_grad();
    backward(loss(unsqueeze(ppo.evaluate(data.seen, data.actions).log_prob, 1)));
    ppo.slab().fill_missing_grads();
    return ppo.slab().grads().clone();
  };
  double worst = 0;
  const Tensor clipped = gradient([&](const Tensor& log_prob) {
    const Tensor ratio = exp(log_prob - old);
    for (double x : ratio.to_vector()) worst = std::max(worst, std::abs(x - 1));
    return mean(impl.clip_loss(ratio, advantage, 0.2, 0.2));
  });
  const Tensor plain = gradient([&](const Tensor& log_prob) { return mean(rl::log_prob_loss(log_prob, advantage)); });
  const auto norm = [](const Tensor& x) { return std::sqrt(sum(x * x).item()); };
  demo.say(
      "512 steps of CartPole: a pole on a cart, 1 for each step that it stands, 500 at most. Before anything has "
      "changed, ratio = π now / π then must be 1, not nearly 1: the same network, the same numbers. And there the loss "
      "of PPO has the gradient of REINFORCE. If one of the two fails in your own code, look no further.");
  demo.claim("largest |ratio - 1| before the first update", worst, "", kit::equals(0));
  demo.claim("gradient of PPO away from that of -A·log π, relative", norm(clipped - plain) / norm(plain), "",
             kit::at_most(1e-5));
}

void show_cartpole(kit::Demo& demo, const Impl& impl) {
  const uint64_t seeds = demo.full() ? 3 : 1;
  demo.heading("CartPole-v1, 500,000 steps");
  kit::Series series{.name = "PPO", .y = {}};
  double worst_ratio = 0, mean_of_last = 0, upright = 0;
  std::vector<double> entropy, explained;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    demo.status(fmt::format("CartPole, seed {} of {} ...", seed, seeds));
    Recipe recipe;
    recipe.seed = seed;
    Ppo ppo(impl, recipe);
    const Curve curve = ppo.train();
    if (seed == 1) {
      entropy = thinned(curve.entropy, 50);
      explained = thinned(curve.explained, 50);
      series.x = curve.steps;
      series.y = curve.returns;
      if (seeds > 1) series.low = series.high = series.y;
    }
    for (size_t i = 0; i < series.low.size(); ++i) {
      series.low[i] = std::min(series.low[i], curve.returns[i]);
      series.high[i] = std::max(series.high[i], curve.returns[i]);
    }
    worst_ratio = std::max(worst_ratio, ppo.worst_first_ratio());
    const double share = 1 / static_cast<double>(seeds);
    mean_of_last += share * curve.last();
    upright += share * ppo.model().value(Tensor::zeros({1, 4})).item();
  }
  demo.show(kit::line_plot({series}, {.x_label = "steps", .y_label = "return, last 100", .height = 12}));
  demo.gap();
  demo.line("entropy            {}  {:.2f} to {:.2f} nats", kit::sparkline(entropy), entropy.front(), entropy.back());
  demo.line("explained variance {}  at most {:.2f} (drawn from -1 up)", kit::sparkline(explained),
            *std::max_element(explained.begin(), explained.end()));
  demo.gap();
  demo.claim("return of the last 100 episodes", mean_of_last, "", kit::at_least(475));
  demo.claim("largest |ratio - 1| at the start of any update", worst_ratio, "", kit::equals(0));
  demo.say(
      "The same recipe by others: CleanRL 490 ± 6, OpenAI's baselines 498 ± 4. The critic of a pole that never falls "
      "should say 1 + 0.99 + 0.99² + … = 1 / (1 - 0.99) = 100 of the pole that stands still in the middle:");
  demo.claim("V of the pole that stands still", upright, "", kit::at_least(90));
}

}  // namespace pg::lesson07

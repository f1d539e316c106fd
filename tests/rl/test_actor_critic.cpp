// The parts of actor-critic training: distributions, weights, several environments in parallel.
#include <cmath>
#include <functional>
#include <numbers>

#include "autograd/check/gradcheck.h"
#include "nn/layers.h"
#include "rl/control/actor_critic.h"
#include "rl/control/vector_env.h"
#include "tests/catch.h"

using namespace pg;
using pg::testing::error_of;
using namespace pg::rl;

namespace {

// An environment of five steps. The step count is part of the observation, and the reward is the step count plus the
// action.
class Clock final : public Environment {
 public:
  Clock() : Environment({{0, 0}, {200, 5}}, {.box = {{-100}, {100}}}, 5, 2) {}

 private:
  void begin(Generator& g) override { s_ = {std::floor(100 * g.uniform()), 0}; }
  Outcome advance(std::span<const double> action) override {
    ++s_[1];
    return {s_[1] + action[0], s_[0] > 50 && s_[1] == 3};
  }
  std::vector<double> observe() const override { return s_; }
};

}  // namespace

TEST_CASE("orthogonal weights are orthogonal", "[nn][env]") {
  Generator g(1);
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{5, 5}, {64, 4}, {3, 64}, {1, 7}, {64, 64}}) {
    const double gain = std::sqrt(2.0);
    const Tensor w = orthogonal(rows, columns, gain, g, f64);
    CHECK(w.shape() == Shape({rows, columns}));
    const Tensor product = rows <= columns ? matmul(w, transpose(w)) : matmul(transpose(w), w);
    const auto got = product.to_vector();
    const auto n = static_cast<size_t>(std::min(rows, columns));
    for (size_t i = 0; i < n * n; ++i) CHECK(std::abs(got[i] - (i % (n + 1) == 0 ? gain * gain : 0)) < 1e-13);
  }
  // Every direction is equally likely: the first element of a random unit vector in 4 dimensions has mean 0 and
  // variance 1/4.
  double sum = 0, squares = 0;
  for (int i = 0; i < 2000; ++i) {
    const double x = orthogonal(4, 4, 1, g, f64).to_vector()[0];
    sum += x, squares += x * x;
  }
  CHECK(std::abs(sum / 2000) < 4 * 0.5 / std::sqrt(2000.0));
  CHECK(squares / 2000 == Approx(0.25).margin(0.02));
}

TEST_CASE("Gaussian log-probability and entropy have their closed form and gradient", "[rl][env]") {
  Generator g(2);
  const Tensor mean = Tensor::normal({5, 3}, 0, 1, g, f64), log_std = Tensor::normal({3}, 0, 0.5, g, f64);
  const Tensor actions = Tensor::normal({5, 3}, 0, 2, g, f64);
  const auto [log_prob, entropy] = gaussian_log_prob(mean, log_std, actions);
  const auto m = mean.to_vector(), s = log_std.to_vector(), a = actions.to_vector(), got = log_prob.to_vector(),
             h = entropy.to_vector();
  for (size_t n = 0; n < 5; ++n) {
    double density = 1, spread = 0;
    for (size_t i = 0; i < 3; ++i) {
      const double std = std::exp(s[i]), d = a[3 * n + i] - m[3 * n + i];
      density *= std::exp(-d * d / (2 * std * std)) / (std * std::sqrt(2 * std::numbers::pi));
      spread += 0.5 * std::log(2 * std::numbers::pi * std::numbers::e * std * std);
    }
    CHECK(got[n] == Approx(std::log(density)).epsilon(1e-12));
    CHECK(h[n] == Approx(spread).epsilon(1e-12));
  }
  const auto result = gradcheck(
      [&](std::span<const Tensor> x) {
        const auto [l, e] = gaussian_log_prob(x[0], x[1], actions);
        return std::vector<Tensor>{l, e};
      },
      {mean, log_std});
  INFO(result.message);
  CHECK(result.ok);
  CHECK(error_of([&] { gaussian_log_prob(mean, mean, actions); }).find("log_std [k]") != std::string::npos);
}

TEST_CASE("an actor and critic has the gradients of finite differences", "[rl][env]") {
  for (const bool discrete : {true, false}) {
    for (const bool shared : {true, false}) {
      Generator g(3);
      const ActionSpace space = discrete ? ActionSpace{.choices = 4} : ActionSpace{.box = {{-1, -1}, {1, 1}}};
      ActorCritic model(3, space, {.hidden = 5, .layers = 2, .shared = shared}, g, f64);
      const Tensor actions =
          discrete ? Tensor::from<double>({0, 3, 1, 1}, {4, 1}) : Tensor::normal({4, 2}, 0, 1, g, f64);
      const Tensor observations = Tensor::normal({4, 3}, 0, 1, g, f64);
      NamedTensors parameters = named_parameters(model);
      CHECK(parameters.size() == (shared ? 8U : 12U) + (discrete ? 0 : 1));
      std::vector<Tensor> inputs = {observations};
      for (auto& [name, parameter] : parameters) inputs.push_back(Tensor::normal(parameter.shape(), 0, 0.5, g, f64));
      const auto result = gradcheck(
          [&](std::span<const Tensor> x) {
            size_t next = 1;
            Visitor put([&](const std::string&, Tensor& parameter) { parameter = x[next++]; });
            model.visit(put);
            const auto e = model.evaluate(x[0], actions);
            return std::vector<Tensor>{e.log_prob, e.entropy, e.value};
          },
          inputs);
      INFO(result.message);
      CHECK(result.ok);
    }
  }
}

TEST_CASE("actions are sampled with the probabilities that are evaluated", "[rl][env]") {
  Generator g(4);
  ActorCritic model(1, {.choices = 3}, {.hidden = 4}, g);
  const double logits[] = {0.3, -0.7, 1.1};
  for (size_t i = 0; i < 3; ++i) model.policy_head.bias.data<float>()[i] = static_cast<float>(logits[i]);
  const int64_t n = 20000;
  const Tensor observations = Tensor::zeros({n, 1});
  const Tensor actions = model.act(observations, &g);
  const auto log_prob = model.evaluate(observations, actions).log_prob.detach().to_vector();
  std::vector<double> counts(3);
  const auto chosen = actions.to_vector();
  const double total = std::exp(0.3) + std::exp(-0.7) + std::exp(1.1);
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto a = static_cast<size_t>(chosen[i]);
    ++counts[a];
    REQUIRE(log_prob[i] == Approx(logits[a] - std::log(total)).margin(1e-6));
  }
  for (size_t a = 0; a < 3; ++a) {
    const double p = std::exp(logits[a]) / total;
    CHECK(std::abs(counts[a] / n - p) < 4 * std::sqrt(p * (1 - p) / n));
  }
  CHECK(model.act(Tensor::zeros({2, 1}), nullptr).to_vector() == std::vector<double>{2, 2});

  ActorCritic gaussian(1, {.box = {{-1, -1}, {1, 1}}}, {.hidden = 4}, g);
  gaussian.log_std.data<float>()[1] = -1;
  const auto x = gaussian.act(observations, &g).to_vector();
  double squares[2] = {};
  for (size_t i = 0; i < x.size(); ++i) squares[i % 2] += x[i] * x[i] / n;
  CHECK(squares[0] == Approx(1).margin(0.05));
  CHECK(squares[1] == Approx(std::exp(-2.0)).margin(0.05 * std::exp(-2.0)));
}

TEST_CASE("running moments are those of all that was seen", "[rl][env]") {
  Generator g(5);
  RunningMoments moments(2);
  CHECK(moments.variance(0) == 0);
  std::vector<double> a, b;
  for (int i = 0; i < 1000; ++i) {
    a.push_back(1e6 + g.normal());
    b.push_back(3 * g.uniform());
    moments.add(std::vector<double>{a.back(), b.back()});
  }
  const Tensor x = Tensor::from(a, {1000}), y = Tensor::from(b, {1000});
  CHECK(moments.mean[0] == Approx(mean(x).item()).epsilon(1e-14));
  CHECK(moments.mean[1] == Approx(mean(y).item()).epsilon(1e-12));
  CHECK(moments.variance(0) == Approx(var(x, {}, 0).item()).epsilon(1e-9));
  CHECK(moments.variance(1) == Approx(var(y, {}, 0).item()).epsilon(1e-12));
}

TEST_CASE("environments side by side: resets, raw statistics and normalisation", "[rl][env]") {
  const bool normalized = GENERATE(false, true);
  VectorEnv envs([] { return std::make_unique<Clock>(); }, 3,
                 {.normalize_observations = normalized, .normalize_rewards = normalized, .gamma = 0.5}, 7);
  RunningMoments seen(2), returns(1);
  std::vector<double> discounted(3), total(3), finished, raw = envs.observations();
  std::vector<int> age(3);
  Generator g(6);
  VectorEnv plain([] { return std::make_unique<Clock>(); }, 3, {}, 7);  // the same random streams, so the same episodes
  for (size_t i = 0; i < 3; ++i) seen.add(std::span(plain.observations()).subspan(2 * i, 2));
  const auto expected = [&](std::vector<double> x) {
    if (!normalized) return x;
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = std::clamp((x[i] - seen.mean[i % 2]) / std::sqrt(seen.variance(i % 2) + 1e-8), -10.0, 10.0);
    }
    return x;
  };
  CHECK(envs.observations() == expected(plain.observations()));
  bool wall = false, clock = false;
  for (int t = 0; t < 40; ++t) {
    std::vector<double> actions;
    for (int i = 0; i < 3; ++i) actions.push_back(10 * g.normal());
    const auto before = plain.observations();
    const auto step = envs.step(actions);
    plain.step(actions);
    std::vector<double> rewards;
    for (size_t i = 0; i < 3; ++i) {
      ++age[i];
      const double reward = age[i] + actions[i];
      rewards.push_back(reward);
      total[i] += reward;
      discounted[i] = 0.5 * discounted[i] + reward;
      returns.add({&discounted[i], 1});
      const bool ends = before[2 * i] > 50 && age[i] == 3;
      CHECK(step.terminated[i] == ends);
      CHECK(step.truncated[i] == (age[i] == 5));
      CHECK(step.final_observations[i].empty() != (ends || age[i] == 5));
      seen.add(std::span(plain.observations()).subspan(2 * i, 2));
      if (!ends && age[i] < 5) continue;
      (ends ? wall : clock) = true;
      finished.push_back(total[i]);
      total[i] = discounted[i] = age[i] = 0;
      CHECK(plain.observations()[2 * i + 1] == 0);
    }
    CHECK(envs.observations() == expected(plain.observations()));
    for (size_t i = 0; i < 3; ++i) {
      const double scale = normalized ? std::sqrt(returns.variance(0) + 1e-8) : 1;
      CHECK(step.rewards[i] == (normalized ? std::clamp(rewards[i] / scale, -10.0, 10.0) : rewards[i]));
    }
  }
  CHECK(wall);
  CHECK(clock);
  double sum = 0;
  for (double r : finished) sum += r;
  CHECK(envs.episodes() == static_cast<int64_t>(finished.size()));
  CHECK(envs.mean_return() == Approx(sum / static_cast<double>(finished.size())).epsilon(1e-12));

  // Saves the state and continues in another object.
  VectorEnv other([] { return std::make_unique<Clock>(); }, 3,
                  {.normalize_observations = normalized, .normalize_rewards = normalized, .gamma = 0.5}, 8);
  other.set_state(envs.state());
  for (int t = 0; t < 12; ++t) {
    const std::vector<double> actions = {1, 2, 3};
    CHECK(other.step(actions).rewards == envs.step(actions).rewards);
  }
  CHECK(other.state() == envs.state());
  VectorEnv fewer([] { return std::make_unique<Clock>(); }, 2, {}, 1);
  CHECK(error_of([&] { fewer.set_state(envs.state()); }).find("of 3 environments, not 2") != std::string::npos);
  CHECK(error_of([&] { fewer.set_state("{}"); }).find("does not fit") != std::string::npos);
}

TEST_CASE("a reward that is no number is refused", "[rl][env]") {
  VectorEnv envs([] { return std::make_unique<Clock>(); }, 2, {}, 7);
  CHECK(error_of([&] { envs.step(std::vector<double>{1, 2, 3}); }).find("got 3") != std::string::npos);
  class Broken final : public Environment {
   public:
    Broken() : Environment({{0}, {1}}, {.choices = 2}, 9, 1) {}

   private:
    void begin(Generator&) override { s_ = {0}; }
    Outcome advance(std::span<const double>) override { return {NAN, false}; }
    std::vector<double> observe() const override { return s_; }
  };
  VectorEnv broken([] { return std::make_unique<Broken>(); }, 1, {}, 7);
  CHECK(error_of([&] { broken.step(std::vector<double>{1}); }).find("not finite") != std::string::npos);
}

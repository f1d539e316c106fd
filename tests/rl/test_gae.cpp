// Generalised advantage estimation: computed by hand, compared with its definition, and at every kind of episode
// border.
#include "rl/advantages.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

// γ = λ = 1/2, so that every value below is exact.
const Tensor kRewards = Tensor::from<double>({1, 2, 3}, {1, 3}), kValues = Tensor::from<double>({4, 2, 1}, {1, 3});
const Tensor kNext = Tensor::from<double>({8}, {1});

rl::GaeOptions half() { return {.gamma = 0.5, .lambda = 0.5}; }
Tensor flags(const std::vector<uint8_t>& x) { return Tensor::from(x, {1, static_cast<int64_t>(x.size())}); }

}  // namespace

// δ = 1 + 1 - 4, 2 + .5 - 2, 3 + 4 - 1 = -2, .5, 6; each advantage adds a quarter of the next one.
TEST_CASE("GAE by hand", "[rl]") {
  const rl::Gae g = rl::gae(kRewards, kValues, kNext, half());
  check_close(g.advantages, {-1.5, 2, 6}, 0);
  check_close(g.returns, {2.5, 4, 7}, 0);
}

TEST_CASE("after a termination nothing follows", "[rl]") {
  rl::GaeOptions options = half();
  options.terminated = flags({0, 1, 0});  // δ_1 = 2 - 2
  const rl::Gae g = rl::gae(kRewards, kValues, kNext, options);
  check_close(g.advantages, {-2, 0, 6}, 0);
  check_close(g.returns, {2, 2, 7}, 0);
  options.terminated = flags({0, 0, 1});  // the value after the last step is not used
  check_close(rl::gae(kRewards, kValues, Tensor::from<double>({kNan}, {1}), options).advantages, {-1.75, 1, 2}, 0);
}

TEST_CASE("a time limit is not a termination", "[rl]") {
  rl::GaeOptions options = half();
  options.truncated = flags({0, 1, 0});
  options.final_values = Tensor::from<double>({kNan, 6, kNan}, {1, 3});  // δ_1 = 2 + 3 - 2
  check_close(rl::gae(kRewards, kValues, kNext, options).advantages, {-1.25, 3, 6}, 0);
  options.terminated = flags({0, 1, 0});  // both: the episode is over
  check_close(rl::gae(kRewards, kValues, kNext, options).advantages, {-2, 0, 6}, 0);
  options.final_values = {};
  CHECK_THROWS_AS(rl::gae(kRewards, kValues, kNext, options), Error);
}

TEST_CASE("nothing passes from one episode to the one before it", "[rl]") {
  rl::GaeOptions options = half();
  options.terminated = flags({0, 1, 0, 0});
  options.truncated = flags({0, 0, 0, 0});
  options.final_values = Tensor::zeros({1, 4}, f64);
  for (bool by_time : {false, true}) {
    if (by_time) std::swap(options.terminated, options.truncated);
    const auto first_two = [&](double later) {
      const Tensor rewards = Tensor::from<double>({1, 2, later, later}, {1, 4});
      const Tensor values = Tensor::from<double>({4, 2, -later, later}, {1, 4});
      const Doubles a = rl::gae(rewards, values, Tensor::from<double>({later}, {1}), options).advantages.to_vector();
      return Doubles{a[0], a[1]};
    };
    check_close(first_two(0), {-2, 0}, 0);
    check_close(first_two(1e6), {-2, 0}, 0);
  }
}

// Slot 1 is an observation: δ_0 = 1 + .5·1 - 4 uses the value of slot 2.
TEST_CASE("the value at a masked slot does not matter", "[rl]") {
  rl::GaeOptions options = half();
  options.mask = flags({1, 0, 1, 0});
  for (double junk : {0.0, 1e9, kNan, HUGE_VAL}) {
    const Tensor rewards = Tensor::from<double>({1, junk, 3, junk}, {1, 4});
    const Tensor values = Tensor::from<double>({4, junk, 1, junk}, {1, 4});
    const rl::Gae g = rl::gae(rewards, values, kNext, options);
    check_close(g.advantages, {-1, 0, 6, 0}, 0);
    check_close(g.returns, {3, 0, 7, 0}, 0);
  }
}

TEST_CASE("padding does not leak into GAE", "[rl]") {
  rl::GaeOptions options{.gamma = 1, .lambda = 1};
  const Tensor rewards = Tensor::from<double>({1.5, 1, 2, 2}, {1, 4}), values = Tensor::zeros({1, 4}, f64);
  options.mask = flags({1, 1, 0, 0});
  check_close(rl::gae(rewards, values, Tensor::zeros({1}, f64), options).advantages, {2.5, 1, 0, 0}, 0);
  options.mask = {};
  check_close(rl::gae(rewards, values, Tensor::zeros({1}, f64), options).advantages, {6.5, 5, 4, 2}, 0);
}

// The definition: (1-λ) Σ_n λ^(n-1) (n-step return - V), where the last n gets all the remaining weight.
TEST_CASE("GAE is the weighted mean of n-step advantages", "[rl]") {
  constexpr size_t T = 7;
  Generator generator(7);
  const Tensor rewards = Tensor::normal({2, T}, 0, 1, generator, f64),
               values = Tensor::normal({2, T}, 0, 1, generator, f64);
  const Tensor next = Tensor::normal({2}, 0, 1, generator, f64);
  const Doubles r = rewards.to_vector(), v = values.to_vector(), last = next.to_vector();
  for (double gamma : {0.9, 1.0}) {
    for (double lambda : {0.0, 0.7, 1.0}) {
      Doubles want;
      for (size_t b = 0; b < 2; ++b) {
        for (size_t t = 0; t < T; ++t) {
          double total = 0, weight = 1;
          for (size_t n = 1; t + n <= T; ++n) {
            double n_step = std::pow(gamma, n) * (t + n < T ? v[b * T + t + n] : last[b]);
            for (size_t l = 0; l < n; ++l) n_step += std::pow(gamma, l) * r[b * T + t + l];
            const double share = t + n == T ? weight : weight * (1 - lambda);
            total += share * (n_step - v[b * T + t]);
            weight *= lambda;
          }
          want.push_back(total);
        }
      }
      const rl::GaeOptions options{.gamma = gamma, .lambda = lambda};
      check_close(rl::gae(rewards, values, next, options).advantages, want, 1e-13);
    }
  }
}

// The critic's target uses the advantages before whitening. Whitened advantages would give it different targets in each
// batch.
TEST_CASE("returns are advantages plus values before any whitening", "[rl]") {
  const rl::Gae g = rl::gae(kRewards, kValues, kNext, {.gamma = 0.9, .lambda = 0.8});
  const Doubles before = g.returns.to_vector(), a = g.advantages.to_vector(), v = kValues.to_vector();
  rl::whiten(g.advantages);
  check_close(g.returns, before, 0);
  check_close(before, {a[0] + v[0], a[1] + v[1], a[2] + v[2]}, 0);
}

TEST_CASE("GAE with lambda 1 and no values is return-to-go", "[rl]") {
  const Tensor rewards = Tensor::from<double>({1, 2, 4, 0, -1, 8}, {2, 3});
  const Tensor mask = Tensor::from<uint8_t>({1, 0, 1, 1, 1, 0}, {2, 3});
  rl::GaeOptions options{.gamma = 0.5, .lambda = 1, .mask = mask};
  check_close(rl::gae(rewards, Tensor::zeros({2, 3}, f64), Tensor::zeros({2}, f64), options).advantages,
              rl::return_to_go(rewards, 0.5, mask).to_vector(), 0);
}

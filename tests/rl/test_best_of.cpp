// Advantages for the best of several responses: exact expectations over all groups, sums over all sets, cases by hand.
#include <limits>

#include "rl/advantages.h"
#include "rl/policy_loss.h"
#include "tests/catch.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

// E[best of k draws] of arms with these rewards, by their cumulative distribution.
double best_of(size_t k, const Doubles& logits, const Doubles& reward) {
  const Doubles p = softmax_of(logits);
  Doubles values = reward;
  std::sort(values.begin(), values.end());
  double total = 0, before = 0;
  for (const double v : values) {
    double at_most = 0;
    for (size_t arm = 0; arm < p.size(); ++arm) at_most += reward[arm] <= v ? p[arm] : 0;
    total += v * (std::pow(at_most, k) - std::pow(before, k));
    before = at_most;
  }
  return total;
}

// The gradient that these advantages give in expectation over all groups.
Doubles expected_gradient(const Draws& draws, const Doubles& logits, const Tensor& advantage) {
  return times(
      -1,
      tape_gradient([&](const Tensor& z) { return draws.expectation(rl::log_prob_loss(draws.log_prob(z), advantage)); },
                    logits));
}

}  // namespace

TEST_CASE("defect: the gradient of pass@k exists in a biased form only", "[rl][defects]") {
  const Doubles logits = {0.3, -0.7, 1.1}, reward = {1, -2, 0.5};
  const Draws draws(logits, 3);
  const Doubles truth = gradient_of([&](const Doubles& z) { return best_of(3, z, reward); }, logits);
  const Doubles exact = expected_gradient(draws, logits, rl::best_only_advantage(draws.of(reward)));
  check_close(times(3, exact), truth, 1e-10);  // the sum over the group, of which the loss takes the mean
  const Doubles divided = expected_gradient(draws, logits, rl::pass_at_k_advantage(draws.of(reward)));
  CHECK(off_direction(divided, truth) > 0.01);  // no factor makes it the gradient
  // The row is that function.
  const Tensor rewards = Tensor::from<double>({.2, .9, .5, /**/ 1, 0, 1, /**/ .3, .3, .3, /**/ 0, -2, -1}, {4, 3});
  check_close(rl::best_only_advantage(rewards), {0, .9 - .5, 0, /**/ 0, 0, 0, /**/ 0, 0, 0, /**/ 1, 0, 0}, 0);
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 0, /**/ 0, 0, 1, /**/ 0, 0, 0, /**/ 1, 1, 1}, {4, 3});
  check_close(rl::best_only_advantage(rewards, mask), {0, .9 - .2, 0, /**/ 0, 0, 0, /**/ 0, 0, 0, /**/ 1, 0, 0}, 0);
}

TEST_CASE("PKPO has the gradient of the expected best of k, whatever the group's size", "[rl]") {
  const Doubles logits = {0.3, -0.7, 1.1};
  for (const Doubles& reward : {Doubles{1, -2, 0.5}, Doubles{0, 1, 1}, Doubles{-3, 7, 7.5}}) {
    for (size_t n = 2; n <= 5; ++n) {
      const Draws draws(logits, n);
      for (size_t k = 2; k <= n; ++k) {
        INFO(n << " responses, the best of " << k);
        const Tensor advantage = rl::pkpo_advantage(draws.of(reward), static_cast<int64_t>(k));
        check_close(expected_gradient(draws, logits, advantage),
                    gradient_of([&](const Doubles& z) { return best_of(k, z, reward); }, logits), 1e-9);
        if (k == n)
          check_close(advantage, times(static_cast<double>(n), rl::best_only_advantage(draws.of(reward)).to_vector()),
                      1e-14);
      }
    }
  }
}

// The estimator as the paper defines it: over all sets of k.
TEST_CASE("PKPO is a sum over sets of k responses of what each adds to the others of its set", "[rl]") {
  const Doubles g = {0.4, -1, 2.5, 2.5, 0.1, 3, -0.2};
  const size_t n = g.size();
  for (size_t k = 2; k <= n; ++k) {
    Doubles want(n, 0);
    double sets = 0;
    for (unsigned set = 0; set < 1U << n; ++set) {
      if (static_cast<size_t>(__builtin_popcount(set)) != k) continue;
      ++sets;
      for (size_t i = 0; i < n; ++i) {
        if ((set >> i & 1U) == 0) continue;
        double others = -std::numeric_limits<double>::infinity();
        for (size_t j = 0; j < n; ++j) {
          if (j != i && (set >> j & 1U) != 0) others = std::max(others, g[j]);
        }
        want[i] += std::max(others, g[i]) - others;
      }
    }
    check_close(rl::pkpo_advantage(row(g), static_cast<int64_t>(k)), times(static_cast<double>(n) / sets, want), 1e-13);
  }
  // Right and wrong, by the paper's formula for binary rewards: k (1 - rho(n-1, c-1, k-1)) for a right one, and
  // 1 - rho(m, c, j) = C(m-c, j) / C(m, j).
  for (const auto& [size, right, k] : {std::tuple{8, 3, 4}, {8, 1, 8}, {8, 6, 4}, {400, 7, 200}, {3000, 1, 2000}}) {
    Doubles rewards(static_cast<size_t>(size), 0);
    std::fill_n(rewards.begin(), right, 1.0);
    double none = 1;  // that k - 1 of the others are all wrong
    for (int j = 0; j < k - 1; ++j) none *= std::max(0.0, double(size - right - j)) / double(size - 1 - j);
    const Doubles got = rl::pkpo_advantage(row(rewards), k).to_vector();
    for (int i = 0; i < size; ++i) {
      const double want = i < right ? k * none : 0;
      CHECK(std::abs(got[static_cast<size_t>(i)] - want) <= 1e-11 * std::max(1.0, want));
    }
  }
  // A masked response is in no set, and a group of fewer than k has none.
  const Tensor some = Tensor::from<uint8_t>({1, 0, 1, 1, 0, 0, 1}, {1, 7});
  const Doubles four = rl::pkpo_advantage(row({0.4, 2.5, 2.5, -0.2}), 3).to_vector();
  check_close(rl::pkpo_advantage(row(g), 3, some), {four[0], 0, four[1], four[2], 0, 0, four[3]}, 0);
  check_close(rl::pkpo_advantage(row(g), 5, some), Doubles(7, 0), 0);
  CHECK(contains(error_of([&] { rl::pkpo_advantage(row(g), 1); }), "k must be at least 2, got 1"));
}

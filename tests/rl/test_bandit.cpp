// Advantages compared with exact enumeration: a bandit with three arms and all ways to draw a group. Each estimator's
// expected gradient is computed by hand from the arms' probabilities.
#include "rl/advantages.h"
#include "rl/policy_loss.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

const Doubles kLogits = {0.3, -0.7, 1.1}, kRewards = {1, -2, 0.5};
using Advantage = std::function<Tensor(const Draws&)>;

// The direction that the estimator ascends: minus the expected gradient of log_prob_loss, averaged over the group.
Doubles ascent(const Doubles& logits, size_t group, const Advantage& advantage) {
  const Draws draws(logits, group);
  const Tensor a = advantage(draws);
  return times(
      -1, tape_gradient([&](const Tensor& z) { return draws.expectation(rl::log_prob_loss(draws.log_prob(z), a)); },
                        logits));
}
Doubles ascent(const Doubles& logits, size_t group, const Doubles& reward, Tensor (*f)(const Tensor&, const Tensor&)) {
  return ascent(logits, group, [&](const Draws& d) { return f(d.of(reward), {}); });
}

// d E[r] / d logit k = p_k (r_k - E[r]).
Doubles true_gradient(const Doubles& logits, const Doubles& reward) {
  const Doubles p = softmax_of(logits);
  double mean = 0;
  for (size_t k = 0; k < p.size(); ++k) mean += p[k] * reward[k];
  Doubles gradient;
  for (size_t k = 0; k < p.size(); ++k) gradient.push_back(p[k] * (reward[k] - mean));
  return gradient;
}

}  // namespace

TEST_CASE("the gradient written by hand is that of the expected reward", "[rl]") {
  const auto expected_reward = [](const Doubles& z) {
    const Doubles p = softmax_of(z);
    return p[0] * kRewards[0] + p[1] * kRewards[1] + p[2] * kRewards[2];
  };
  check_close(true_gradient(kLogits, kRewards), gradient_of(expected_reward, kLogits), 1e-10);
}

TEST_CASE("REINFORCE with any constant baseline is the policy gradient", "[rl]") {
  for (double baseline : {0.0, 3.0, -11.0}) {
    for (size_t group : {1, 2, 3}) {
      const auto less = [&](const Draws& d) { return d.of(kRewards) - baseline; };
      check_close(ascent(kLogits, group, less), true_gradient(kLogits, kRewards), 1e-14);
    }
  }
}

TEST_CASE("leave-one-out is the policy gradient exactly and the group mean G-1 Gths of it", "[rl]") {
  const Doubles want = true_gradient(kLogits, kRewards);
  for (size_t group : {2, 3}) {
    const double share = static_cast<double>(group - 1) / static_cast<double>(group);
    check_close(ascent(kLogits, group, kRewards, rl::leave_one_out_advantage), want, 1e-14);
    check_close(ascent(kLogits, group, kRewards, rl::group_mean_advantage), times(share, want), 1e-14);
  }
}

// In a group of two the standardised rewards are ±1/√2 for any two different rewards: the gradient for arm k is
// p_k·(P(worse) - P(better))/√2.
TEST_CASE("dividing by the group's deviation is not the policy gradient and flips a sign", "[rl]") {
  const Doubles logits = {0, 0.5, -0.5}, reward = {1, 0, 0.3}, p = softmax_of(logits);
  const auto standardised = [&](double eps) {
    return ascent(logits, 2, [&](const Draws& d) { return rl::group_std_advantage(d.of(reward), eps); });
  };
  const double c = std::sqrt(0.5);
  check_close(standardised(0), {c * p[0] * (p[1] + p[2]), -c * p[1] * (p[0] + p[2]), c * p[2] * (p[1] - p[0])}, 1e-14);

  const Doubles truth = true_gradient(logits, reward);
  CHECK(std::abs(truth[2] - -.0117557) < 5e-8);
  check_close(ascent(logits, 2, reward, rl::leave_one_out_advantage), truth, 1e-14);
  CHECK(std::abs(standardised(1e-4)[2] - .0262326) < 5e-8);
  CHECK(off_direction(standardised(0), truth) > 0.1);
}

TEST_CASE("ReMax is the policy gradient since the greedy reward does not depend on the sample", "[rl]") {
  const auto remax = [](const Draws& d) {
    return rl::remax_advantage(d.of(kRewards), column(Doubles(d.probability.size(), kRewards[2])));
  };
  check_close(ascent(kLogits, 2, remax), true_gradient(kLogits, kRewards), 1e-14);
}

// With two responses A_1 = len_2 (r_1 - r_2) / (len_1 + len_2). This is half the policy gradient if the lengths are
// equal, and another direction if they are not, because a response's own length is part of its baseline.
TEST_CASE("OPO is the policy gradient only up to what a response's own length does to its baseline", "[rl]") {
  const auto opo = [](const Doubles& lengths) {
    return ascent(kLogits, 2, [&](const Draws& d) { return rl::opo_advantage(d.of(kRewards), d.of(lengths)); });
  };
  const Doubles truth = true_gradient(kLogits, kRewards);
  check_close(opo({7, 7, 7}), times(0.5, truth), 1e-14);

  const Doubles lengths = {1, 5, 20}, p = softmax_of(kLogits);
  Doubles own(3, 0);  // E[A_1 | arm k]
  double mean = 0;
  for (size_t k = 0; k < 3; ++k) {
    for (size_t j = 0; j < 3; ++j)
      own[k] += p[j] * lengths[j] * (kRewards[k] - kRewards[j]) / (lengths[k] + lengths[j]);
    mean += p[k] * own[k];
  }
  const Doubles got = opo(lengths);
  check_close(got, {p[0] * (own[0] - mean), p[1] * (own[1] - mean), p[2] * (own[2] - mean)}, 1e-14);
  CHECK(off_direction(got, truth) > 0.05);
}

// With rewards 0 and 1 and success probability s, G responses ascend Σ_{k<G} -(1-s)^k / k, the first G-1 terms of log
// s. The gradient of each term is (1-s)^(k-1) ∇s. For G = 2 the objective is E[r] up to a constant.
TEST_CASE("MaxRL climbs as many terms of the log-likelihood as there are other responses", "[rl]") {
  const Doubles reward = {1, 0, 1}, truth = true_gradient(kLogits, reward);
  const double fail = softmax_of(kLogits)[1];
  check_close(ascent(kLogits, 2, reward, rl::maxrl_advantage), truth, 1e-14);
  check_close(ascent(kLogits, 3, reward, rl::maxrl_advantage), times(1 + fail, truth), 1e-14);
  check_close(ascent(kLogits, 4, reward, rl::maxrl_advantage), times(1 + fail + fail * fail, truth), 1e-14);
}

// Two groups of two. Each gives half the policy gradient. If the other group has no signal (probability 1 - q), the
// first group counts double: (q + 2(1-q)) / 2.
TEST_CASE("GPG keeps the direction of the policy gradient and scales it by the groups that teach", "[rl]") {
  const Doubles p = softmax_of(kLogits);
  const double q = 1 - (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
  const auto gpg = [](const Draws& d) {
    const Tensor rewards = d.of(kRewards);
    std::vector<Tensor> batches;
    for (int64_t row = 0; row < d.rows(); ++row) {
      batches.push_back(reshape(rl::gpg_advantage(reshape(slice(rewards, 0, row, row + 1), {2, 2})), {1, 4}));
    }
    return cat(batches);
  };
  check_close(ascent(kLogits, 4, gpg), times((2 - q) / 2, true_gradient(kLogits, kRewards)), 1e-14);
}

TEST_CASE("off policy the ratio restores the policy gradient", "[rl]") {
  const Draws draws({0.9, 0.1, -0.4}, 1);  // sampled from another policy
  const Tensor old = draws.log_prob(Tensor::from<double>({0.9, 0.1, -0.4}, {3})), reward = draws.of(kRewards);
  const auto gradient = [&](auto loss) {
    return times(-1,
                 tape_gradient([&](const Tensor& z) { return draws.expectation(loss(draws.log_prob(z))); }, kLogits));
  };
  const Doubles truth = true_gradient(kLogits, kRewards);
  check_close(gradient([&](const Tensor& lp) { return rl::ratio_loss(rl::token_ratio(lp, old), reward); }), truth,
              1e-14);
  // Without the ratio, the gradient is weighted by the sampling frequencies. Clipping makes the gradient inexact in
  // return for small steps.
  CHECK(off_direction(gradient([&](const Tensor& lp) { return rl::log_prob_loss(lp, reward); }), truth) > 0.05);
  CHECK(off_direction(gradient([&](const Tensor& lp) { return rl::clip_loss(rl::token_ratio(lp, old), reward); }),
                      truth) > 0.05);
}

TEST_CASE("CISPO is the policy gradient while no ratio is clipped", "[rl]") {
  const Doubles sampled = {0.35, -0.65, 1.05};
  const Draws draws(sampled, 1);
  const Tensor old = draws.log_prob(Tensor::from(sampled, {3})), reward = draws.of(kRewards);
  const auto loss = [&](const Tensor& z) {
    const Tensor lp = draws.log_prob(z);
    return draws.expectation(rl::cispo_loss(lp, rl::token_ratio(lp, old), reward));
  };
  check_close(times(-1, tape_gradient(loss, kLogits)), true_gradient(kLogits, kRewards), 1e-14);
}

TEST_CASE("a moving baseline of earlier batches leaves the expected gradient alone", "[rl]") {
  rl::MovingBaseline baseline(0.5);
  baseline.advantage(Tensor::from<double>({4, 8}, {2}));
  const auto less = [&](const Draws& d) { return baseline.advantage(d.of(kRewards)); };
  check_close(ascent(kLogits, 2, less), true_gradient(kLogits, kRewards), 1e-14);
}

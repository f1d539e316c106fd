// REINFORCE and the KL estimators against exact enumeration: on a policy of three tokens every expectation is a short
// sum.
#include <cmath>

#include "rl/advantages.h"
#include "rl/kl.h"
#include "rl/policy_loss.h"
#include "tests/catch.h"

using namespace pg;

namespace {

const std::vector<double> kLogits = {0.3, -0.7, 1.1}, kRefLogits = {-0.2, 0.4, 0.5};

std::vector<double> probabilities(const std::vector<double>& logits) {
  double total = 0;
  for (double z : logits) total += std::exp(z);
  std::vector<double> p;
  for (double z : logits) p.push_back(std::exp(z) / total);
  return p;
}

// Gradient in the logits of Σ_a weight_a · f(log π(a)), one action per row.
template <class F>
std::vector<double> expected_gradient(const std::vector<double>& weights, F f) {
  Tensor logits = Tensor::from(kLogits, {1, 3});
  logits.set_requires_grad();
  const Tensor log_prob = token_log_prob(expand(logits, {3, 3}), Tensor::arange(3, i32)).first;
  backward(sum(f(unsqueeze(log_prob, 1)) * Tensor::from(weights, {3, 1})));
  return logits.grad().to_vector();
}

double kl(const std::vector<double>& p, const std::vector<double>& q) {
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) total += p[i] * std::log(p[i] / q[i]);
  return total;
}

// Central differences of KL between softmax(kLogits) and softmax(kRefLogits), either way round.
std::vector<double> kl_gradient(bool reverse) {
  std::vector<double> gradient;
  const auto q = probabilities(kRefLogits);
  for (size_t i = 0; i < 3; ++i) {
    const auto at = [&](double h) {
      auto z = kLogits;
      z[i] += h;
      const auto p = probabilities(z);
      return reverse ? kl(p, q) : kl(q, p);
    };
    gradient.push_back((at(1e-5) - at(-1e-5)) / 2e-5);
  }
  return gradient;
}

void check_close(const std::vector<double>& got, const std::vector<double>& want, double tolerance) {
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - want[i]) <= tolerance);
}

}  // namespace

TEST_CASE("the REINFORCE gradient enumerated over all actions is that of the expected reward", "[rl]") {
  const std::vector<double> reward = {1, -2, 0.5};
  const auto p = probabilities(kLogits);
  const double mean = p[0] * reward[0] + p[1] * reward[1] + p[2] * reward[2];
  for (double baseline : {0.0, 3.0}) {  // any constant baseline leaves the expectation alone
    // reinforce_loss divides by B = 3 rows, the expectation weighs them by p: scale back.
    std::vector<double> advantage;
    for (size_t a = 0; a < 3; ++a) advantage.push_back(3 * p[a] * (reward[a] - baseline));
    Tensor logits = Tensor::from(kLogits, {1, 3});
    logits.set_requires_grad();
    const Tensor log_prob = token_log_prob(expand(logits, {3, 3}), Tensor::arange(3, i32)).first;
    backward(rl::reinforce_loss(unsqueeze(log_prob, 1), Tensor::from(advantage, {3, 1})));
    std::vector<double> want;
    for (size_t a = 0; a < 3; ++a) want.push_back(-p[a] * (reward[a] - mean));  // -d E[r] / d z_a
    check_close(logits.grad().to_vector(), want, 1e-12);
  }
}

TEST_CASE("masked steps of reinforce_loss count for nothing whatever they hold", "[rl]") {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor log_prob = Tensor::from<double>({-1, -2, -inf, -0.5, -3, -inf}, {2, 3});
  log_prob.set_requires_grad();
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 0, 1, 1, 0}, {2, 3});
  const Tensor loss = rl::reinforce_loss(log_prob, Tensor::from<double>({2, -1}, {2, 1}), mask);
  CHECK(loss.item() == -((-3 * 2) + (-3.5 * -1)) / 2);
  backward(loss);
  check_close(log_prob.grad().to_vector(), {-1, -1, 0, 0.5, 0.5, 0}, 0);
}

TEST_CASE("return-to-go is the discounted sum of what follows", "[rl]") {
  const Tensor rewards = Tensor::from<double>({1, 2, 4, 0, -1, 8}, {2, 3});
  check_close(rl::return_to_go(rewards, 0.5).to_vector(), {3, 4, 4, 1.5, 3, 8}, 0);
  check_close(rl::return_to_go(rewards).to_vector(), {7, 6, 4, 7, 7, 8}, 0);
  CHECK(rewards.to_vector()[0] == 1);
  CHECK(rl::return_to_go(Tensor::zeros({2, 0})).numel() == 0);
}

TEST_CASE("a batch does not enter its own baseline", "[rl]") {
  rl::MovingBaseline baseline(0.5);
  check_close(baseline.advantage(Tensor::from<double>({4, 8}, {2})).to_vector(), {4, 8}, 0);
  CHECK(baseline.value() == 6);
  check_close(baseline.advantage(Tensor::from<double>({0, 0}, {2})).to_vector(), {-6, -6}, 0);
  CHECK(std::abs(baseline.value() - 6 * 0.5 / 1.5) < 1e-15);
}

TEST_CASE("k1 and k3 are unbiased for the KL and k2 is not", "[rl]") {
  const auto p = probabilities(kLogits), q = probabilities(kRefLogits);
  const auto log_of = [](const std::vector<double>& v) { return log(Tensor::from(v, {3})); };
  const auto expectation = [&](const Tensor& k) { return sum(k * Tensor::from(p, {3})).item(); };
  const double exact = kl(p, q);
  CHECK(std::abs(expectation(rl::k1(log_of(p), log_of(q))) - exact) < 1e-14);
  CHECK(std::abs(expectation(rl::k3(log_of(p), log_of(q))) - exact) < 1e-14);
  CHECK(std::abs(expectation(rl::k2(log_of(p), log_of(q))) - exact) > 1e-3);
  // Direction: exp(-1) and e - 2, by hand.
  const Tensor zero = Tensor::zeros({1}, f64), one = Tensor::ones({1}, f64);
  CHECK(std::abs(rl::k3(one, zero).item() - std::exp(-1.0)) < 1e-15);
  CHECK(std::abs(rl::k3(zero, one).item() - (std::exp(1.0) - 2)) < 1e-15);
}

TEST_CASE("as losses k1 gives nothing and k2 the KL to the reference and k3 the KL from it", "[rl]") {
  const auto p = probabilities(kLogits);
  const auto q = probabilities(kRefLogits);
  const Tensor ref = log(Tensor::from(q, {3, 1}));
  check_close(expected_gradient(p, [&](const Tensor& lp) { return rl::k1(lp, ref); }), {0, 0, 0}, 1e-14);
  check_close(expected_gradient(p, [&](const Tensor& lp) { return rl::k2(lp, ref); }), kl_gradient(true), 1e-9);
  check_close(expected_gradient(p, [&](const Tensor& lp) { return rl::k3(lp, ref); }), kl_gradient(false), 1e-9);
}

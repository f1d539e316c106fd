// Where training ends: every algorithm follows its exact expected gradient on a bandit. The optimum under a KL penalty
// to a reference is known: π* ∝ ref·exp(r/β).
#include "rl/advantages.h"
#include "rl/methods/kl.h"
#include "rl/policy_loss.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

const Doubles kRewards = {0.2, 0, 1}, kReference = {0.5, 0.1, -0.4};
using T = const Tensor&;

struct Named {
  const char* name;
  std::function<Tensor(const Draws&)> advantage;
};
const std::vector<Named>& estimators() {
  static const std::vector<Named> all = {
      {"return", [](const Draws& d) { return d.of(kRewards); }},
      {"baseline", [](const Draws& d) { return d.of(kRewards) - 0.4; }},
      {"group mean", [](const Draws& d) { return rl::group_mean_advantage(d.of(kRewards)); }},
      {"leave one out", [](const Draws& d) { return rl::leave_one_out_advantage(d.of(kRewards)); }},
      {"group std", [](const Draws& d) { return rl::group_std_advantage(d.of(kRewards)); }},
      {"batch std", [](const Draws& d) { return rl::batch_std_advantage(d.of(kRewards)); }},
      {"opo",
       [](const Draws& d) {
         return rl::opo_advantage(d.of(kRewards), d.of({3, 5, 4}));
       }},
      {"remax",
       [](const Draws& d) {
         return rl::remax_advantage(d.of(kRewards), Tensor::full({d.rows(), 1}, .2, f64));
       }},
      {"maxrl", [](const Draws& d) { return rl::maxrl_advantage(d.of(kRewards)); }},
      {"gpg", [](const Draws& d) { return rl::gpg_advantage(d.of(kRewards)); }},
  };
  return all;
}

using Surrogate = std::function<Tensor(T log_prob, T old, T advantage)>;
const std::vector<std::pair<const char*, Surrogate>>& surrogates() {
  static const std::vector<std::pair<const char*, Surrogate>> all = {
      {"log_prob", [](T lp, T, T a) { return rl::log_prob_loss(lp, a); }},
      {"ratio", [](T lp, T old, T a) { return rl::ratio_loss(rl::token_ratio(lp, old), a); }},
      {"ppo", [](T lp, T old, T a) { return rl::clip_loss(rl::token_ratio(lp, old), a); }},
      {"dual clip", [](T lp, T old, T a) { return rl::dual_clip_loss(rl::token_ratio(lp, old), a); }},
      {"cispo", [](T lp, T old, T a) { return rl::cispo_loss(lp, rl::token_ratio(lp, old), a); }},
  };
  return all;
}

// The gradient of leave-one-out plus β times a per-sample KL term, at the optimum of E[r] - β·KL(π ‖ ref).
double gradient_at_optimum(double beta, const std::function<Tensor(T log_prob, T ref)>& kl) {
  Doubles optimum;
  for (size_t k = 0; k < 3; ++k) optimum.push_back(kReference[k] + kRewards[k] / beta);
  const Draws draws(optimum, 2);
  const Tensor advantage = rl::leave_one_out_advantage(draws.of(kRewards));
  const Tensor ref = draws.log_prob(Tensor::from(kReference, {3}));
  const auto loss = [&](T z) {
    const Tensor lp = draws.log_prob(z);
    return draws.expectation(rl::log_prob_loss(lp, advantage) + beta * kl(lp, ref));
  };
  return largest_difference(tape_gradient(loss, optimum), {0, 0, 0});
}

}  // namespace

// Two steps with each set of samples, so that ratios differ from 1.
TEST_CASE("every estimator with every surrogate learns the best arm", "[rl]") {
  for (const Named& estimator : estimators()) {
    for (const auto& [name, surrogate] : surrogates()) {
      const Surrogate& f = surrogate;
      Doubles logits = {0.4, 0.6, -0.5};
      for (int round = 0; round < 60; ++round) {
        const Draws draws(logits, 2);
        const Tensor advantage = estimator.advantage(draws), old = draws.log_prob(Tensor::from(logits, {3}));
        for (int step = 0; step < 2; ++step) {
          const auto loss = [&](T z) { return draws.expectation(f(draws.log_prob(z), old, advantage)); };
          const Doubles gradient = tape_gradient(loss, logits);
          for (size_t k = 0; k < 3; ++k) logits[k] -= gradient[k];
        }
      }
      INFO(estimator.name << ", " << name);
      CHECK(softmax_of({0.4, 0.6, -0.5})[2] < 0.2);
      CHECK(softmax_of(logits)[2] > 0.9);
    }
  }
}

TEST_CASE("the optimum under a KL to the reference is where right gradients vanish", "[rl]") {
  for (double beta : {0.3, 1.0}) {
    // KL in the reward: r - β·k1, detached, is the same for every arm at the optimum.
    CHECK(gradient_at_optimum(beta, [](T lp, T ref) { return rl::k1(lp.detach(), ref) * (lp - lp.detach()); }) < 1e-14);
    CHECK(gradient_at_optimum(beta, [](T lp, T ref) { return rl::k2(lp, ref); }) < 1e-14);
    CHECK(gradient_at_optimum(beta, [](T lp, T ref) { return rl::weighted_k3(lp, ref, lp.detach()); }) < 1e-14);
    // k3 has another optimum, and k1 as a loss does not constrain the policy at all.
    CHECK(gradient_at_optimum(beta, [](T lp, T ref) { return rl::k3(lp, ref); }) > 0.01);
    CHECK(gradient_at_optimum(beta, [](T lp, T ref) { return rl::k1(lp, ref); }) > 0.05);
  }
}

TEST_CASE("groups with equal rewards teach nothing but a KL loss still acts on them", "[rl]") {
  const Draws draws(kReference, 3);
  const Tensor advantage = rl::group_std_advantage(Tensor::full({draws.rows(), 3}, 0.9, f64));
  const Tensor old = draws.log_prob(Tensor::from<double>({0, 0, 0}, {3}));
  const auto loss = [&](double beta) {
    return [&, beta](T z) {
      const Tensor lp = draws.log_prob(z);
      return draws.expectation(rl::clip_loss(rl::token_ratio(lp, old), advantage) + beta * rl::k3(lp, old));
    };
  };
  check_close(tape_gradient(loss(0), kReference), {0, 0, 0}, 0);
  CHECK(largest_difference(tape_gradient(loss(0.1), kReference), {0, 0, 0}) > 1e-3);
}

TEST_CASE("a KL inside the reward brings no gradient of its own", "[rl]") {
  const Draws draws({0.3, -0.7, 1.1}, 2);
  const Tensor ref = draws.log_prob(Tensor::from(kReference, {3})), reward = draws.of(kRewards);
  const auto gradient = [&](bool detached) {
    const auto loss = [&](T z) {
      const Tensor lp = draws.log_prob(z), penalty = 0.2 * rl::k1(detached ? lp.detach() : lp, ref);
      return draws.expectation(rl::log_prob_loss(lp, reward - penalty)) +
             draws.expectation(rl::ratio_loss(rl::token_ratio(lp, ref), rl::leave_one_out_advantage(reward - penalty)));
    };
    return tape_gradient(loss, {0.3, -0.7, 1.1});
  };
  check_close(gradient(false), gradient(true), 0);
}

// Sequences: a language of two tokens and nine sequences. Per-token estimators differ from the gradient of the sequence
// in the effect of a first token on what follows it.
#include "rl/advantages.h"
#include "rl/methods/algorithm.h"
#include "rl/methods/kl.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

// The constants in the k2 test depend on the first row's KL gradient: change them together.
const Doubles kPolicy = {0, -.5, -.3, /**/ .4, -.2, .1, /**/ -.6, .9, .2, /**/ .3, .3, -.8};
const Doubles kReference = {0, .1, -.1, /**/ -.3, .2, 0, /**/ .5, -.1, .4, /**/ -.2, .6, .1};
const Doubles kSampler = {.3, -.1, -.4, /**/ .1, .1, -.2, /**/ -.2, .5, 0, /**/ .6, 0, -.5};
const Doubles kRewards = {1, 0, -1, .5, 2, -.3, .7, -.9, .2};  // one per sequence

Tensor reference() { return Language::log_prob(Tensor::from(kReference, {12})); }

// The gradient at kPolicy of Σ_s p(s) Σ_t f(log π)_t with p = probability and f: [9, 2] → [9, 2].
Doubles expected_gradient(const Doubles& probability, const std::function<Tensor(const Tensor&)>& f) {
  return tape_gradient([&](const Tensor& z) { return sum(f(Language::log_prob(z)) * column(probability)); }, kPolicy);
}

double expected_reward(const Doubles& logits) {
  const Doubles p = Language::probabilities(logits);
  double total = 0;
  for (size_t s = 0; s < 9; ++s) total += p[s] * kRewards[s];
  return total;
}
double sequence_kl(const Doubles& logits) {
  return kl_of(Language::probabilities(logits), Language::probabilities(kReference));
}
// Σ_t E[KL at step t], with prefixes drawn from `first`. The effect of earlier tokens on later steps is not included.
double stepwise_kl(const Doubles& logits, const Doubles& first, bool to_reference = true) {
  double total = 0;
  for (size_t row = 0; row < 4; ++row) {
    const Doubles p = Language::row(logits, row), q = Language::row(kReference, row);
    total += (row == 0 ? 1 : first[row - 1]) * (to_reference ? kl_of(p, q) : kl_of(q, p));
  }
  return total;
}

Doubles row_of(const Doubles& gradient, size_t row) {
  return {gradient[row * 3], gradient[row * 3 + 1], gradient[row * 3 + 2]};
}

}  // namespace

TEST_CASE("REINFORCE on sequences is the gradient of the expected reward", "[rl]") {
  const Doubles truth = gradient_of(expected_reward, kPolicy), p = Language::probabilities(kPolicy);
  const Tensor reward = column(kRewards);
  check_close(expected_gradient(p, [&](const Tensor& lp) { return rl::log_prob_loss(lp, reward - 0.7); }),
              times(-1, truth), 1e-10);

  // Aggregated over a batch in which the weight of every sequence is its probability.
  const auto weighted = [&](const Tensor& z) {
    return 9 * rl::reinforce_loss(Language::log_prob(z), reward * column(p));
  };
  check_close(tape_gradient(weighted, kPolicy), times(-1, truth), 1e-10);

  // The reward is at the last token and is returned to the earlier token. A baseline may depend on the prefix.
  std::vector<Tensor> steps = {Tensor::zeros({9, 1}, f64), reward};
  const Tensor to_go = rl::return_to_go(cat(steps, 1));
  std::vector<double> baseline;
  for (int64_t s = 0; s < 9; ++s) baseline.insert(baseline.end(), {0.4, Language::first(s) - 0.5});
  const Tensor advantage = to_go - Tensor::from(baseline, {9, 2});
  check_close(expected_gradient(p, [&](const Tensor& lp) { return rl::log_prob_loss(lp, advantage); }),
              times(-1, truth), 1e-10);
}

TEST_CASE("leave-one-out over pairs of sequences is the policy gradient", "[rl]") {
  const Doubles p = Language::probabilities(kPolicy);
  std::vector<int32_t> rows;
  Doubles pairs, weight;
  for (int32_t a = 0; a < 9; ++a) {
    for (int32_t b = 0; b < 9; ++b) {
      rows.insert(rows.end(), {a, b});
      pairs.insert(pairs.end(), {kRewards[static_cast<size_t>(a)], kRewards[static_cast<size_t>(b)]});
      weight.insert(weight.end(), 2, p[static_cast<size_t>(a)] * p[static_cast<size_t>(b)] / 2);
    }
  }
  const Tensor advantage = reshape(rl::leave_one_out_advantage(Tensor::from(pairs, {81, 2})), {162, 1});
  const auto loss = [&](const Tensor& z) {
    const Tensor lp = index_select(Language::log_prob(z), 0, Tensor::from(rows, {162}));
    return sum(rl::log_prob_loss(lp, advantage) * column(weight));
  };
  check_close(tape_gradient(loss, kPolicy), times(-1, gradient_of(expected_reward, kPolicy)), 1e-10);
}

// Token 2 ends a response: there are seven responses, one of them with a single token.
TEST_CASE("only sums over tokens keep the policy gradient when lengths differ", "[rl]") {
  const auto with_end = [](const Doubles& logits) {
    const Doubles first = Language::row(logits, 0), p = Language::probabilities(logits);
    double total = first[2] * kRewards[6];
    for (size_t s = 0; s < 6; ++s) total += p[s] * kRewards[s];
    return total;
  };
  const Doubles truth = times(-1, gradient_of(with_end, kPolicy));
  const Doubles p = Language::probabilities(kPolicy);
  Doubles weighted(kRewards);  // each response's reward times its probability; a one-token response counts once
  std::vector<uint8_t> mask(18, 1);
  for (size_t s = 0; s < 9; ++s) weighted[s] *= s < 6 ? p[s] : s == 6 ? Language::row(kPolicy, 0)[2] : 0;
  for (size_t s = 6; s < 9; ++s) mask[2 * s + 1] = 0;
  const Tensor m = Tensor::from(mask, {9, 2});
  const auto gradient = [&](const rl::Aggregation& how) {
    const auto loss = [&](const Tensor& z) {
      return how.aggregate(rl::log_prob_loss(Language::log_prob(z), column(weighted), m), m,
                           {.tokens = 1, .sequences = 1, .max_length = 2});
    };
    return tape_gradient(loss, kPolicy);
  };
  check_close(gradient(Choice<rl::Aggregation>("sequence_sum")), truth, 1e-10);
  check_close(gradient(Choice<rl::Aggregation>("constant")), times(0.5, truth), 1e-10);
  CHECK(off_direction(gradient(Choice<rl::Aggregation>("sequence_mean")), truth) > 0.01);
}

// γ = 1. With the true values every λ is right. With wrong values only λ = 1, which does not use them, is right.
TEST_CASE("advantages of an actor and critic give the policy gradient when they should", "[rl]") {
  const Doubles p = Language::probabilities(kPolicy);
  const auto gradient = [&](double lambda, double error) {
    Doubles rewards, values;
    for (size_t s = 0; s < 9; ++s) {
      const Doubles second = Language::row(kPolicy, 1 + s / 3);
      double after = 0;
      for (size_t b = 0; b < 3; ++b) after += second[b] * kRewards[s / 3 * 3 + b];
      rewards.insert(rewards.end(), {0, kRewards[s]});
      values.insert(values.end(), {expected_reward(kPolicy), after + error * static_cast<double>(s / 3)});
    }
    const rl::GaeOptions options{.gamma = 1, .lambda = lambda};
    const rl::Gae g =
        rl::gae(Tensor::from(rewards, {9, 2}), Tensor::from(values, {9, 2}), Tensor::zeros({9}, f64), options);
    return expected_gradient(p, [&](const Tensor& lp) { return rl::log_prob_loss(lp, g.advantages); });
  };
  const Doubles truth = times(-1, gradient_of(expected_reward, kPolicy));
  for (double lambda : {0.0, 0.6, 1.0}) check_close(gradient(lambda, 0), truth, 1e-10);
  check_close(gradient(1, 0.8), truth, 1e-10);
  CHECK(largest_difference(gradient(0, 0.8), truth) > 0.05);
}

// ---- the KL to a reference

TEST_CASE("the KL in the reward with returns-to-go is the gradient of the KL of sequences", "[rl]") {
  const auto loss = [](const Tensor& lp) {
    const Tensor penalty = rl::k1(lp.detach(), reference());
    return rl::log_prob_loss(lp, rl::return_to_go(neg(penalty)));
  };
  check_close(expected_gradient(Language::probabilities(kPolicy), loss), gradient_of(sequence_kl, kPolicy), 1e-10);
}

TEST_CASE("k1 as a loss has no expected gradient", "[rl]") {
  const auto loss = [](const Tensor& lp) { return rl::k1(lp, reference()); };
  check_close(expected_gradient(Language::probabilities(kPolicy), loss), Doubles(12, 0), 1e-14);
  // Except if the samples come from another distribution: another temperature or a truncated sampler.
  const Doubles elsewhere = expected_gradient(Language::probabilities(kSampler), loss);
  CHECK(largest_difference(elsewhere, Doubles(12, 0)) > 0.05);
}

TEST_CASE("k2 as a loss misses what early tokens do to later KL", "[rl]") {
  const auto loss = [](const Tensor& lp) { return rl::k2(lp, reference()); };
  const Doubles got = expected_gradient(Language::probabilities(kPolicy), loss);
  const Doubles first = Language::row(kPolicy, 0);
  check_close(got, gradient_of([&](const Doubles& z) { return stepwise_kl(z, first); }, kPolicy), 1e-10);
  check_close(row_of(got, 0), {.0929361, -.0986652, .0057292}, 5e-8);
  // The rows of second tokens are right, the first row is not.
  const Doubles exact = gradient_of(sequence_kl, kPolicy);
  for (size_t row : {1, 2, 3}) check_close(row_of(got, row), row_of(exact, row), 1e-10);
  CHECK(largest_difference(row_of(got, 0), row_of(exact, 0)) > 0.01);
}

TEST_CASE("k3 as a loss descends the KL from the reference", "[rl]") {
  const auto loss = [](const Tensor& lp) { return rl::k3(lp, reference()); };
  const Doubles first = Language::row(kPolicy, 0);
  const Doubles got = expected_gradient(Language::probabilities(kPolicy), loss);
  check_close(got, gradient_of([&](const Doubles& z) { return stepwise_kl(z, first, false); }, kPolicy), 1e-10);
  CHECK(largest_difference(got, gradient_of([&](const Doubles& z) { return stepwise_kl(z, first); }, kPolicy)) > 0.005);
}

TEST_CASE("weighted k3 descends the KL to the reference on and off policy", "[rl]") {
  for (const Doubles& sampler : {kPolicy, kSampler}) {
    const Tensor old = Language::log_prob(Tensor::from(sampler, {12}));
    const auto loss = [&](const Tensor& lp) { return rl::weighted_k3(lp, reference(), old); };
    const Doubles first = Language::row(sampler, 0);
    check_close(expected_gradient(Language::probabilities(sampler), loss),
                gradient_of([&](const Doubles& z) { return stepwise_kl(z, first); }, kPolicy), 1e-10);
  }
}

TEST_CASE("the full KL needs no sampling", "[rl]") {
  const Doubles first = Language::row(kPolicy, 0);
  const auto loss = [&](const Tensor& z) {
    const Tensor each = rl::full_kl(reshape(z, {4, 3}), Tensor::from(kReference, {4, 3}));
    return sum(each * Tensor::from<double>({1, first[0], first[1], first[2]}, {4}));
  };
  const auto value = [&](const Doubles& z) { return stepwise_kl(z, first); };
  CHECK(std::abs(loss(Tensor::from(kPolicy, {12})).item() - value(kPolicy)) < 1e-14);
  CHECK(std::abs(value(kPolicy) - sequence_kl(kPolicy)) < 1e-14);  // by the chain rule of the KL
  check_close(tape_gradient(loss, kPolicy), gradient_of(value, kPolicy), 1e-10);
}

TEST_CASE("k1 and k3 are unbiased for the KL of sequences and k2 is not", "[rl]") {
  const auto expectation = [](auto k) {
    const Tensor lp = Language::log_prob(Tensor::from(kPolicy, {12}));
    return sum(k(lp, reference(), Tensor{}) * column(Language::probabilities(kPolicy))).item();
  };
  const double exact = sequence_kl(kPolicy);
  CHECK(std::abs(expectation(rl::k1) - exact) < 1e-14);
  CHECK(std::abs(expectation(rl::k3) - exact) < 1e-14);
  CHECK(std::abs(expectation(rl::k2) - exact) > 1e-3);
}

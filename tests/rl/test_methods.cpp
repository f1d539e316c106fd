// Surrogates, weights and baselines of one paper each: identities, examples by hand, exact expectations, edge cases.
#include "rl/methods/algorithm.h"
#include "tests/catch.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

// Responses of 3, 1 and 0 tokens.
const Tensor kMask = Tensor::from<uint8_t>({1, 1, 1, /**/ 0, 1, 0, /**/ 0, 0, 0}, {3, 3});

rl::Batch batch_of(const Tensor& old, const Tensor& sampler, const Tensor& advantage, const Tensor& mask) {
  rl::Batch batch;
  batch.old_log_prob = old;
  batch.sampler_log_prob = sampler;
  batch.advantage = contiguous(expand(advantage, old.shape()));
  batch.mask = mask;
  return batch;
}

}  // namespace

// ---- surrogates

TEST_CASE("at ratio one every surrogate has the gradient of the ratio for one advantage per response", "[rl]") {
  const Tensor log_prob = random({3, 3}, 1, -2), advantage = Tensor::from<double>({1.5, -0.7, 3}, {3, 1});
  const rl::Batch batch = batch_of(log_prob, log_prob, advantage, kMask);
  const rl::Denominators total = rl::denominators(kMask, 3);
  const auto gradient = [&](const rl::Algorithm& a) {
    return gradient_at(
        log_prob, [&](const Tensor& lp) { return rl::sequence_mean(rl::token_losses(a, lp, batch), kMask, total); });
  };
  rl::Algorithm a;
  a.ratio = "token";
  a.surrogate = "ratio";
  const Doubles want = gradient(a);
  check_close(want, {-.25, -.25, -.25, 0, .35, 0, 0, 0, 0}, 1e-15);
  for (const rl::Surrogate& surrogate : rl::Surrogate::table()) {
    for (const auto& [positive, negative] : {std::pair{1.0, 1.05}, {0.1, 7.0}, {30.0, 0.01}}) {
      INFO(surrogate.name << ", temperatures " << positive << " and " << negative);
      a.surrogate = surrogate;
      a.tau_positive = positive;
      a.tau_negative = negative;
      check_close(gradient(a), want, 1e-14);
    }
  }
}

TEST_CASE("the two-sided clip is the clip up to delta and bounded beyond", "[rl]") {
  const Tensor ratio = row({.01, .5, .8, 1, 1.2, 1.9, 2.9, 3, 3.1, 50, 1e8});
  for (const double sign : {1.0, -1.0}) {
    const Tensor advantage = Tensor::full({1, 11}, 2 * sign, f64);
    const auto two_sided = [&](const Tensor& r) { return rl::two_sided_clip_loss(r, advantage, .2, .3, 3); };
    const Doubles got = two_sided(ratio).to_vector(), plain = rl::clip_loss(ratio, advantage, .2, .3).to_vector();
    const Doubles slope = gradient_at(ratio, two_sided);
    for (size_t i = 0; i < got.size(); ++i) {
      INFO("element " << i << ", advantage " << 2 * sign);
      CHECK(got[i] <= 6);
      CHECK(got[i] == (sign > 0 || i <= 7 ? plain[i] : 6));
      if (sign < 0 && i > 7) CHECK(slope[i] == 0);
    }
  }
  const Tensor one = row({1});
  CHECK(contains(error_of([&] { rl::two_sided_clip_loss(one, one, .2, .3, 1.3); }), "delta must be above 1 + high"));
  rl::Algorithm a = rl::algorithm("grpo_two_sided");
  a.clip_high = 3;
  CHECK(contains(error_of([&] { rl::check_algorithm(a); }), "delta 4 must be above 1 + clip-high = 4"));
}

TEST_CASE("the gate of SAPO is smooth, increasing and bounded", "[rl]") {
  const Tensor ratio = row({0, .5, 1, 2, 1e8}), good = Tensor::ones({1, 5}, f64);
  const auto loss = [&](const Tensor& advantage) { return rl::sapo_loss(ratio, advantage, 2, 5).to_vector(); };
  const auto gate = [](double tau, double r) { return 4 / tau / (1 + std::exp(-tau * (r - 1))); };
  check_close(loss(good), {-gate(2, 0), -gate(2, .5), -1, -gate(2, 2), -2}, 1e-15);
  check_close(loss(-3 * good), {3 * gate(5, 0), 3 * gate(5, .5), 1.2, 3 * gate(5, 2), 2.4}, 1e-15);
  check_close(loss(0 * good), Doubles(5, 0), 0);
  CHECK_THROWS_AS(rl::sapo_loss(ratio, good, 0, 1), Error);
  CHECK_THROWS_AS(rl::sapo_loss(ratio, good, 1, -1), Error);
}

TEST_CASE("the ratio of GMPO is the geometric mean of those of the tokens, each clipped on one side", "[rl]") {
  const Tensor old = random({3, 3}, 1, -2), log_prob = old + 0.3 * random({3, 3}, 2);
  const Tensor advantage = Tensor::from<double>({1.5, -0.7, 3}, {3, 1});
  // Nothing is clipped: the loss is that of the sequence ratio, with its gradient.
  const auto unclipped = [&](const Tensor& lp) { return rl::gmpo_loss(lp, old, advantage, 50, 50, kMask); };
  const auto sequence = [&](const Tensor& lp) {
    return rl::ratio_loss(rl::sequence_ratio(lp, old, kMask), advantage * column({1, 1, 0}));
  };
  check_close(unclipped(log_prob), sequence(log_prob).to_vector(), 1e-15);
  check_close(gradient_at(log_prob, unclipped), gradient_at(log_prob, sequence), 1e-15);
  // By hand: log-ratios of 1, -1 and .1, of which a good action keeps at most .4 and a bad one at least -.2.
  const Tensor base = row({-2, -3, -4}), moved = base + row({1, -1, .1});
  const auto value = [&](double a) { return rl::gmpo_loss(moved, base, row({a, a, a}), .2, .4).item(); };
  CHECK(std::abs(value(2) + 2 * std::exp((.4 - 1 + .1) / 3)) < 1e-15);
  CHECK(std::abs(value(-2) - 2 * std::exp((1 - .2 + .1) / 3)) < 1e-15);
  CHECK(value(0) == 0);
  // A clipped token has no gradient of its own.
  const Doubles slope = gradient_at(moved, [&](const Tensor& lp) {
    return rl::gmpo_loss(lp, base, row({2, 2, 2}), .2, .4);
  });
  CHECK(slope[0] == 0);
  check_close({slope[1], slope[2]}, Doubles(2, -2 * std::exp(-.5 / 3) / 3), 1e-15);
}

// ---- weights between the policy before the update and the sampler

TEST_CASE("every weight is exactly 1 where sampler and policy agree", "[rl]") {
  for (const DType dtype : {f64, f32}) {
    const Tensor log_prob = random({3, 3}, 1, -2).to(dtype);
    const Tensor poisoned = where(kMask, log_prob, Tensor::scalar(-kInf, dtype));
    for (const rl::Weight& weight : rl::Weight::table()) {
      if (!weight.compute) continue;
      INFO(weight.name);
      for (const Tensor& x : {log_prob, poisoned}) {
        const Tensor got = weight.compute(x, x, kMask, {});
        CHECK(got.dtype() == dtype);
        check_close(got, Doubles(static_cast<size_t>(got.numel()), 1), 0);
      }
    }
  }
}

TEST_CASE("weights by hand, with a response without tokens and infinity in masked slots", "[rl]") {
  const double two = std::log(2.0);
  const Tensor old = Tensor::from<double>({two, -two, 3 * two, /**/ kInf, -2 * two, kNan, /**/ -kInf, 1, kNan}, {3, 3});
  const Tensor sampler = Tensor::from<double>({0, 0, 0, /**/ -kInf, 0, 1, /**/ kInf, kNan, kNan}, {3, 3});
  rl::Algorithm a;
  a.weight_cap = 4;
  a.weight_floor = 0.5;
  const auto weight = [&](const char* name) {
    return Choice<rl::Weight>(name).compute(old, sampler, kMask, a).to_vector();
  };
  check_close(weight("full"), {2, .5, 8, /**/ 1, .25, 1, /**/ 1, 1, 1}, 1e-14);
  check_close(weight("truncate"), {2, .5, 4, /**/ 1, .25, 1, /**/ 1, 1, 1}, 1e-14);
  check_close(weight("mask"), {2, .5, 0, /**/ 1, 0, 1, /**/ 1, 1, 1}, 1e-14);
  check_close(weight("sequence_truncate"), {4, .25, 1}, 1e-14);
  check_close(weight("sequence_mask"), {0, .25, 1}, 1e-14);

  // All masked, and a single response.
  const Tensor none = Tensor::zeros({1, 3}, u8), junk = Tensor::full({1, 3}, kNan, f64);
  for (const rl::Weight& each : rl::Weight::table()) {
    if (!each.compute) continue;
    INFO(each.name);
    const Tensor got = each.compute(junk, junk, none, a);
    check_close(got, Doubles(static_cast<size_t>(got.numel()), 1), 0);
    CHECK(!got.requires_grad());
  }
  CHECK_THROWS_AS(rl::masked_weight(old, sampler, 1.5, 4, kMask), Error);
  CHECK_THROWS_AS(rl::sequence_masked_weight(old, sampler, 0.9, kMask), Error);
  CHECK_THROWS_AS(rl::sequence_truncated_weight(old, sampler, 0.9, kMask), Error);
}

TEST_CASE("a uniform change of the loss by a sequence weight reaches every token of the response", "[rl]") {
  const Tensor old = random({3, 3}, 1, -2), sampler = old + 0.4 * random({3, 3}, 2), advantage = random({3, 1}, 3);
  const rl::Batch batch = batch_of(old, sampler, advantage, kMask);
  rl::Algorithm a;
  a.ratio = "token";
  a.surrogate = "ratio";
  a.weight_cap = 1e6;
  a.weight = "sequence_truncate";
  const Tensor log_prob = old + 0.1 * random({3, 3}, 4);
  const Doubles got = rl::token_losses(a, log_prob, batch).to_vector();
  a.weight = "none";
  const Doubles plain = rl::token_losses(a, log_prob, batch).to_vector();
  const Doubles o = old.to_vector(), s = sampler.to_vector();
  const double first = std::exp(o[0] + o[1] + o[2] - s[0] - s[1] - s[2]), second = std::exp(o[4] - s[4]);
  check_close(got,
              {first * plain[0], first * plain[1], first * plain[2], second * plain[3], second * plain[4],
               second * plain[5], plain[6], plain[7], plain[8]},
              1e-14);
}

// The samples are from one policy and the update begins at another.
TEST_CASE("importance weights make an expectation over another sampler exact", "[rl]") {
  const Doubles policy = {0.3, -0.7, 1.1}, elsewhere = {0.9, 0.1, -0.4}, reward = {1, -2, 0.5};
  const auto expected = [&](const Doubles& z) {
    const Doubles p = softmax_of(z);
    return p[0] * reward[0] + p[1] * reward[1] + p[2] * reward[2];
  };
  const Draws draws(elsewhere, 1);
  const Tensor old = draws.log_prob(Tensor::from(policy, {3})), sampler = draws.log_prob(Tensor::from(elsewhere, {3}));
  const auto gradient = [&](const char* weight) {
    rl::Algorithm a;
    a.ratio = "token";
    a.surrogate = "ratio";
    a.weight = weight;
    a.weight_cap = 1.5;
    const rl::Batch batch = batch_of(old, sampler, draws.of(reward), Tensor::ones({3, 1}, u8));
    return times(
        -1,
        tape_gradient([&](const Tensor& z) { return draws.expectation(rl::token_losses(a, draws.log_prob(z), batch)); },
                      policy));
  };
  const Doubles truth = gradient_of(expected, policy);
  check_close(gradient("full"), truth, 1e-10);
  CHECK(largest_difference(gradient("none"), truth) > 0.05);
  CHECK(largest_difference(gradient("truncate"), truth) > 0.05);  // a cap trades bias for variance

  // Whole responses: the product over the tokens is exact, the weights of single tokens are not.
  const Doubles p = {0, -.5, -.3, /**/ .4, -.2, .1, /**/ -.6, .9, .2, /**/ .3, .3, -.8};
  const Doubles q = {.3, -.1, -.4, /**/ .1, .1, -.2, /**/ -.2, .5, 0, /**/ .6, 0, -.5};
  const Doubles rewards = {1, 0, -1, .5, 2, -.3, .7, -.9, .2};
  const auto sequences = [&](const char* weight) {
    rl::Algorithm a;
    a.weight = weight;
    a.weight_cap = 1e9;
    const rl::Batch batch =
        batch_of(Language::log_prob(Tensor::from(p, {12})), Language::log_prob(Tensor::from(q, {12})), column(rewards),
                 Tensor::ones({9, 2}, u8));
    const auto loss = [&](const Tensor& z) {
      return sum(rl::token_losses(a, Language::log_prob(z), batch) * column(Language::probabilities(q)));
    };
    return times(-1, tape_gradient(loss, p));
  };
  const Doubles whole = gradient_of(
      [&](const Doubles& z) {
        const Doubles each = Language::probabilities(z);
        double total = 0;
        for (size_t s = 0; s < 9; ++s) total += each[s] * rewards[s];
        return total;
      },
      p);
  check_close(sequences("sequence_truncate"), whole, 1e-10);
  check_close(sequences("sequence_mask"), whole, 1e-10);
  CHECK(largest_difference(sequences("full"), whole) > 0.01);
}

// ---- baselines

// E[best of the group] has the gradient Σ_i E[(best - best of the others) ∇ log π(i)], of which only the best response
// has a term. The estimator divides it by the deviation of the group.
TEST_CASE("pass@k credits the best response with what the second best lacks", "[rl]") {
  const Tensor rewards = Tensor::from<double>({.2, .9, .5, /**/ 1, 0, 1, /**/ .3, .3, .3, /**/ 0, -2, -1}, {4, 3});
  const double first =
      std::sqrt((std::pow(.2 - 1.6 / 3, 2) + std::pow(.9 - 1.6 / 3, 2) + std::pow(.5 - 1.6 / 3, 2)) / 2);
  check_close(rl::pass_at_k_advantage(rewards, 0), {0, .4 / first, 0, /**/ 0, 0, 0, /**/ 0, 0, 0, /**/ 1, 0, 0}, 1e-14);
  // A masked response is no second best, and a group of one has none.
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 0, /**/ 0, 0, 1, /**/ 0, 0, 0, /**/ 1, 1, 1}, {4, 3});
  check_close(rl::pass_at_k_advantage(rewards, 0, 1, mask),
              {0, .7 / std::sqrt(.245), 0, /**/ 0, 0, 0, /**/ 0, 0, 0, /**/ 1, 0, 0}, 1e-14);

  const Doubles logits = {0.3, -0.7, 1.1}, reward = {1, -2, 0.5};
  const Draws draws(logits, 3);
  const Tensor drawn = draws.of(reward);
  const Doubles r = drawn.to_vector();
  Doubles deviation;
  for (size_t n = 0; n < r.size(); n += 3) {
    const double mean = (r[n] + r[n + 1] + r[n + 2]) / 3;
    double squares = 0;
    for (size_t g = 0; g < 3; ++g) squares += (r[n + g] - mean) * (r[n + g] - mean);
    deviation.push_back(std::sqrt(squares / 2) + 0.01);
  }
  const Tensor advantage = rl::pass_at_k_advantage(drawn, 0.01) * column(deviation);
  const Doubles got = tape_gradient(
      [&](const Tensor& z) { return draws.expectation(rl::log_prob_loss(draws.log_prob(z), advantage)); }, logits);
  const auto best_of_three = [&](const Doubles& z) {
    const Doubles p = softmax_of(z);
    const double not_first = std::pow(1 - p[0], 3), none = std::pow(p[1], 3);  // from the best arm to the worst
    return (1 - not_first) * reward[0] + (not_first - none) * reward[2] + none * reward[1];
  };
  check_close(times(-3, got), gradient_of(best_of_three, logits), 1e-10);
}

TEST_CASE("GDPO gives every reward the same weight whatever its scale", "[rl]") {
  const Tensor a = random({3, 4}, 1), b = random({3, 4}, 2), equal = Tensor::full({3, 4}, 0.1, f64);
  const auto gdpo = [](const std::vector<Tensor>& rewards, const Doubles& weights) {
    return rl::gdpo_advantage(rewards, weights, 0).to_vector();
  };
  const Doubles both = gdpo({a, b}, {1, 1});
  check_close(gdpo({a * 1000 + 3, b}, {1, 1}), both, 1e-12);
  check_close(gdpo({b, a}, {1, 1}), both, 1e-15);
  check_close(gdpo({a, b}, {5, 5}), both, 1e-14);
  check_close(gdpo({a, b, equal}, {1, 1, 1}), both, 0);  // equal rewards say nothing
  check_close(gdpo({a, b}, {1, 0}), gdpo({a}, {1}), 0);
  check_close(gdpo({a}, {-1}), times(-1, gdpo({a}, {1})), 1e-15);
  check_close(gdpo({equal, equal}, {1, 1}), Doubles(12, 0), 0);
  CHECK(largest_difference(gdpo({a + b * 100}, {1}), both) > 0.1);  // the sum is dominated by one reward
  double mean = 0, squares = 0;
  for (const double x : both) mean += x / 12, squares += x * x / 11;
  CHECK(std::abs(mean) < 1e-15);
  CHECK(std::abs(squares - 1) < 1e-14);
  CHECK_THROWS_AS(gdpo({}, {}), Error);
  CHECK_THROWS_AS(gdpo({a, b}, {1}), Error);
  CHECK(contains(error_of([&] { gdpo({a, random({4, 3}, 1)}, {1, 1}); }), "reward 1 must be [3, 4], got [4, 3]"));
}

TEST_CASE("gdpo refuses what changes only the sum of the reward's parts", "[rl]") {
  rl::Algorithm a = rl::algorithm("gdpo");
  a.overlong_cache = 0.2;
  CHECK(contains(error_of([&] { rl::check_algorithm(a); }), "compares the parts of the reward"));
  a = rl::algorithm("gdpo");
  a.kl = "reward";
  a.reference = "frozen";
  CHECK(contains(error_of([&] { rl::check_algorithm(a); }), "compares the parts of the reward"));
  a.kl = "loss";
  rl::check_algorithm(a);
}

TEST_CASE("the weights of a reward's parts are read from text", "[rl]") {
  const std::vector<std::string> parts = {"exact", "format", "a=b"};
  rl::Algorithm a;
  const auto weights = [&](const char* text) {
    a.reward_weights = text;
    return rl::part_weights(a, parts);
  };
  CHECK(weights("") == Doubles{1, 1, 1});
  CHECK(weights("exact=1,format=0.5") == Doubles{1, 0.5, 0});
  CHECK(weights("format=-2e1") == Doubles{0, -20, 0});
  CHECK(weights("a=b=3") == Doubles{0, 0, 3});
  const auto error = [&](const char* text) { return error_of([&] { weights(text); }); };
  const std::string unknown = error("exakt=1");
  CHECK(contains(unknown, "exakt"));
  for (const std::string& part : parts) CHECK(contains(unknown, part));
  CHECK(contains(error("exact"), "expected NAME=WEIGHT,NAME=WEIGHT, got \"exact\""));
  for (const char* text : {"exact=", "exact=nan", "exact=inf", "exact=1x", "exact=1,,format=2", "=1", ",", " exact=1",
                           "exact=1;format=2"}) {
    INFO(text);
    CHECK(!error(text).empty());
  }
}

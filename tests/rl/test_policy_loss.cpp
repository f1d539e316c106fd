// Properties of ratios and surrogates beyond correct gradients: identities between them and examples computed by hand.
#include "rl/methods/algorithm.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

const Tensor kMask = Tensor::from<uint8_t>({1, 1, 1, /**/ 1, 0, 0}, {2, 3});

}  // namespace

TEST_CASE("on the first pass every ratio is exactly one and nothing is clipped", "[rl]") {
  for (DType dtype : {f64, f32}) {
    const Tensor log_prob = random({2, 3}, 1, -3).to(dtype);
    check_close(rl::token_ratio(log_prob, log_prob, kMask), Doubles(6, 1), 0);
    check_close(rl::sequence_ratio(log_prob, log_prob, kMask), Doubles(2, 1), 0);
    check_close(rl::sequence_token_ratio(log_prob, log_prob, kMask), Doubles(6, 1), 0);
    check_close(rl::truncated_weight(log_prob, log_prob, 2, kMask), Doubles(6, 1), 0);
  }
}

// The loss value at the first step carries no information: for PPO it is minus the mean advantage, which is zero in a
// group whose advantages add up to zero, although the gradient is that of REINFORCE.
TEST_CASE("at ratio one every surrogate has the gradient of REINFORCE but another value", "[rl]") {
  const Tensor log_prob = random({2, 3}, 2, -3), advantage = Tensor::from<double>({1.5, -1.5}, {2, 1});
  const rl::Denominators total = rl::denominators(Tensor::ones({2, 3}, u8));
  const auto mean_over_responses = [&](const Tensor& loss) { return rl::sequence_mean(loss, {}, total); };
  const auto reinforce = [&](const Tensor& lp) { return mean_over_responses(rl::log_prob_loss(lp, advantage)); };
  const Doubles want = gradient_at(log_prob, reinforce);
  check_close(want, times(1.0 / 6, {-1.5, -1.5, -1.5, 1.5, 1.5, 1.5}), 1e-15);

  using Loss = std::function<Tensor(const Tensor&)>;
  const Loss with_ratio[] = {[&](const Tensor& r) { return rl::ratio_loss(r, advantage); },
                             [&](const Tensor& r) { return rl::clip_loss(r, advantage); },
                             [&](const Tensor& r) { return rl::dual_clip_loss(r, advantage); }};
  const auto token = [&](const Tensor& lp) { return rl::token_ratio(lp, log_prob); };
  const auto sequence = [&](const Tensor& lp) { return rl::sequence_ratio(lp, log_prob); };
  const auto both = [&](const Tensor& lp) { return rl::sequence_token_ratio(lp, log_prob); };
  for (const Loss& loss : with_ratio) {
    for (const Loss& ratio : {Loss(token), Loss(sequence), Loss(both)}) {
      const auto whole = [&](const Tensor& lp) { return mean_over_responses(loss(ratio(lp))); };
      check_close(gradient_at(log_prob, whole), want, 1e-15);
      CHECK(whole(log_prob).item() == 0);
    }
  }
  const auto cispo = [&](const Tensor& lp) { return mean_over_responses(rl::cispo_loss(lp, token(lp), advantage)); };
  check_close(gradient_at(log_prob, cispo), want, 1e-15);
  CHECK(std::abs(reinforce(log_prob).item()) > 0.01);
}

TEST_CASE("with mean-zero advantages and unequal lengths the token mean is not zero at the first step", "[rl]") {
  const Tensor ratio = Tensor::ones({2, 3}, f64), advantage = Tensor::from<double>({1, -1}, {2, 1});
  const rl::Denominators total = rl::denominators(kMask);
  const Tensor loss = rl::clip_loss(ratio, advantage);
  CHECK(rl::token_mean(loss, kMask, total).item() == -(3.0 - 1.0) / 4);  // -Σ len·A / Σ len
  CHECK(rl::sequence_mean(loss, kMask, total).item() == 0);
}

// s = exp(mean of the log-ratios of the unmasked tokens).
TEST_CASE("the sequence ratio is the geometric mean of the token ratios", "[rl]") {
  const Tensor old = random({2, 3}, 3, -3), log_prob = random({2, 3}, 4, -3);
  const Doubles rho = rl::token_ratio(log_prob, old, kMask).to_vector();
  check_close(rl::sequence_ratio(log_prob, old, kMask), {std::cbrt(rho[0] * rho[1] * rho[2]), rho[3]}, 1e-14);
  check_close(rl::token_ratio(row({-1, -2}), row({-1 - std::log(2.0), -2 + std::log(4.0)})), {2, 0.25}, 1e-15);
}

TEST_CASE("GSPO per token has the value of GSPO and its gradient when a response has one advantage", "[rl]") {
  const Tensor old = random({2, 3}, 5, -3), log_prob = old + 0.3 * random({2, 3}, 6);
  const Tensor advantage = Tensor::from<double>({1.5, -0.5}, {2, 1});
  const rl::Denominators total = rl::denominators(kMask);
  const Doubles s = rl::sequence_ratio(log_prob, old, kMask).to_vector();
  check_close(rl::sequence_token_ratio(log_prob, old, kMask), {s[0], s[0], s[0], s[1], s[1], s[1]}, 1e-15);
  for (double clip : {0.05, 10.0}) {
    const auto loss = [&](auto ratio) {
      return [&, ratio](const Tensor& lp) {
        return rl::sequence_mean(rl::clip_loss(ratio(lp, old, kMask), advantage, std::min(clip, 1.0), clip), kMask,
                                 total);
      };
    };
    const auto whole = loss(rl::sequence_ratio), by_token = loss(rl::sequence_token_ratio);
    CHECK(std::abs(whole(log_prob).item() - by_token(log_prob).item()) < 1e-15);
    check_close(gradient_at(log_prob, by_token), gradient_at(log_prob, whole), 1e-15);
  }
}

// ---- clipping, by hand

TEST_CASE("PPO takes the worse of both branches", "[rl]") {
  const Tensor ratio = row({.5, 1.5, .5, 1.5, 1.1, 1.25});
  const Tensor advantage = row({1, 1, -1, -1, -1, 2});
  check_close(rl::clip_loss(ratio, advantage), {-.5, -1.2, .8, 1.5, 1.1, -2.4}, 1e-15);
  check_close(rl::clip_loss(ratio, advantage, .2, .28), {-.5, -1.28, .8, 1.5, 1.1, -2.5}, 1e-15);
  check_close(rl::ratio_loss(ratio, advantage), {-.5, -1.5, .5, 1.5, 1.1, -2.5}, 1e-15);
}

TEST_CASE("dual clip bounds the loss of a bad action and nothing else", "[rl]") {
  const Tensor ratio = row({5, 5, 2.5, .1, 3, 5}), advantage = row({-2, 2, -2, -2, -2, 0});
  const auto loss = [&](const Tensor& r) { return rl::dual_clip_loss(r, advantage, .2, .2, 3); };
  check_close(loss(ratio), {6, -2.4, 5, 1.6, 6, 0}, 1e-15);
  // At the bound itself the loss still has its gradient; beyond the bound it has none.
  check_close(gradient_at(ratio, loss), {0, 0, 2, 0, 2, 0}, 0);
}

TEST_CASE("CISPO keeps the gradient of tokens that PPO clips away", "[rl]") {
  const Tensor old = row({-1, -1, -1, -1}), advantage = row({2, -2, 2, -2});
  const Tensor log_prob = old + row({std::log(1.5), std::log(1.5), std::log(.5), std::log(.5)});
  const auto ppo = [&](const Tensor& lp) { return rl::clip_loss(rl::token_ratio(lp, old), advantage, .2, .3); };
  const auto cispo = [&](const Tensor& lp) { return rl::cispo_loss(lp, rl::token_ratio(lp, old), advantage, .2, .3); };
  check_close(gradient_at(log_prob, ppo), {0, 3, -1, 0}, 1e-15);
  check_close(gradient_at(log_prob, cispo), {-2.6, 2.6, -1.6, 1.6}, 1e-15);
}

TEST_CASE("the correction for the sampler is capped and a constant", "[rl]") {
  const Tensor sampler = row({-1, -1, -1});
  const Tensor old = leaf_of(sampler + row({std::log(1.5), 5, -1}));
  const Tensor w = rl::truncated_weight(old, sampler, 2);
  check_close(w, {1.5, 2, std::exp(-1.0)}, 1e-15);
  CHECK(!w.requires_grad());
}

// A wrong response gets the same advantage on all its tokens. The weight of one token depends on the aggregation.
TEST_CASE("the per-sequence mean weighs tokens of long answers less and the constant length does not", "[rl]") {
  const Tensor mask = Tensor::from<uint8_t>({1, 0, 0, 0, /**/ 1, 1, 1, 1}, {2, 4});
  const Tensor advantage = Tensor::full({2, 1}, -1, f64), log_prob = random({2, 4}, 7, -2);
  const auto gradient = [&](const rl::Aggregation& how) {
    return gradient_at(log_prob, [&](const Tensor& lp) {
      return how.aggregate(rl::log_prob_loss(lp, advantage, mask), mask, rl::denominators(mask, 8));
    });
  };
  check_close(gradient(Choice<rl::Aggregation>("sequence_mean")), {.5, 0, 0, 0, /**/ .125, .125, .125, .125}, 1e-16);
  check_close(gradient(Choice<rl::Aggregation>("token_mean")), {.2, 0, 0, 0, /**/ .2, .2, .2, .2}, 1e-16);
  check_close(gradient(Choice<rl::Aggregation>("constant")), times(1.0 / 16, {1, 0, 0, 0, 1, 1, 1, 1}), 1e-16);
  check_close(gradient(Choice<rl::Aggregation>("sequence_sum")), {.5, 0, 0, 0, .5, .5, .5, .5}, 1e-16);
}

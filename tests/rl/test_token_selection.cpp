// Selections of tokens: shares, ties, masks, and the covariance of log-probability and advantage by hand.
#include <algorithm>
#include <limits>

#include "rl/methods/algorithm.h"
#include "rl/methods/token_selection.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/rl/policies.h"

using namespace pg;
using namespace pg::testing;

namespace {

// 21 of 40 tokens, one row without any; the other slots hold NaN.
const Tensor kMask =
    Tensor::from<uint8_t>({1, 1, 1, 1, 1, /**/ 1, 0, 0, 0, 0, /**/ 1, 0, 1, 1, 0, /**/ 0, 0, 0, 0, 0, /**/
                           0, 1, 1, 0, 0, /**/ 1, 1, 1, 1, 1, /**/ 1, 1, 0, 1, 1, /**/ 0, 0, 0, 0, 1},
                          {8, 5});
const Tensor kNone = Tensor::zeros({8, 5}, u8);

Tensor tokens(uint64_t seed) { return where(kMask, random({8, 5}, seed), Tensor::scalar(kNan, f64)); }

Doubles clip_cov(const Tensor& mask, double share, double low, double high, uint64_t seed) {
  Generator generator(seed);
  return rl::clip_cov_tokens(tokens(1), tokens(2), mask, share, low, high, generator).to_vector();
}

double count(const Doubles& flags) { return static_cast<double>(std::count(flags.begin(), flags.end(), 1)); }

}  // namespace

TEST_CASE("the tokens of highest entropy by hand", "[rl]") {
  const Tensor entropy = Tensor::from<double>({5, 1, 3, 2, 4, kNan}, {2, 3});
  const Tensor mask = Tensor::from<uint8_t>({1, 1, 1, 1, 1, 0}, {2, 3});
  const auto selected = [&](double share) { return rl::high_entropy_tokens(entropy, mask, share).to_vector(); };
  CHECK(selected(1) == Doubles{1, 1, 1, 1, 1, 0});
  CHECK(selected(0.75) == Doubles{1, 0, 1, 1, 1, 0});  // the quantile .25 is 2 itself
  CHECK(selected(0.7) == Doubles{1, 0, 1, 0, 1, 0});   // and that of .3 is 2.2
  CHECK(selected(0.2) == Doubles{1, 0, 0, 0, 0, 0});
  CHECK(selected(1e-9) == Doubles{1, 0, 0, 0, 0, 0});  // never none
  CHECK(rl::high_entropy_tokens(entropy, mask, 1).dtype() == u8);
}

TEST_CASE("tokens of equal entropy are selected together", "[rl]") {
  const Tensor ones = Tensor::ones({1, 4}, u8);
  const auto selected = [&](const Doubles& entropy, double share) {
    return rl::high_entropy_tokens(Tensor::from(entropy, {1, 4}), ones, share).to_vector();
  };
  CHECK(selected({2, 2, 2, 2}, 0.25) == Doubles{1, 1, 1, 1});
  CHECK(selected({0, 2, 2, 1}, 0.25) == Doubles{0, 1, 1, 0});
  CHECK(selected({0, 0, 0, 0}, 1e-3) == Doubles{1, 1, 1, 1});
}

TEST_CASE("without tokens nothing is selected, and one token is", "[rl]") {
  const Tensor one = Tensor::from<uint8_t>({0, 1, 0}, {1, 3});
  const Tensor x = Tensor::from<double>({kNan, -1, kNan}, {1, 3});
  Generator generator(1);
  for (const double share : {0.01, 1.0}) {
    CHECK(count(rl::high_entropy_tokens(tokens(1), kNone, share).to_vector()) == 0);
    CHECK(count(rl::kl_cov_tokens(tokens(1), tokens(2), kNone, share).to_vector()) == 0);
    CHECK(count(clip_cov(kNone, share, -100, 100, 1)) == 0);
    CHECK(rl::high_entropy_tokens(x, one, share).to_vector() == Doubles{0, 1, 0});
    CHECK(rl::kl_cov_tokens(x, x, one, share).to_vector() == Doubles{0, 1, 0});
    CHECK(rl::clip_cov_tokens(x, x, one, share, -1, 1, generator).to_vector() == Doubles{0, 1, 0});
    CHECK(rl::clip_cov_tokens(x, x, one, share, 1, 5, generator).to_vector() == Doubles{0, 0, 0});  // covariance 0
  }
  check_close(rl::token_covariance(tokens(1), tokens(2), kNone), Doubles(40, 0), 0);
}

TEST_CASE("the covariance of tokens adds up to that of the batch and ignores shifts and masked slots", "[rl]") {
  const Doubles lp = tokens(1).to_vector(), a = tokens(2).to_vector(), keep = kMask.to_vector();
  const Doubles got = rl::token_covariance(tokens(1), tokens(2), kMask).to_vector();
  double n = 0, sum_lp = 0, sum_a = 0, products = 0, total = 0;
  for (size_t i = 0; i < lp.size(); ++i) {
    CHECK((keep[i] != 0 || got[i] == 0));
    if (keep[i] == 0) continue;
    n += 1, sum_lp += lp[i], sum_a += a[i], products += lp[i] * a[i], total += got[i];
  }
  CHECK(std::abs(total - (products - sum_lp * sum_a / n)) < 1e-13);
  check_close(rl::token_covariance(tokens(1) + 7, tokens(2) - 3, kMask), got, 1e-13);
  check_close(rl::token_covariance(tokens(2), tokens(1), kMask), got, 1e-15);
  // One advantage for all tokens: nothing varies with log π.
  check_close(rl::token_covariance(tokens(1), Tensor::full({8, 5}, 0.7, f64), kMask), Doubles(40, 0), 1e-15);
}

TEST_CASE("KL-Cov selects the tokens with the largest covariance", "[rl]") {
  const Doubles covariance = rl::token_covariance(tokens(1), tokens(2), kMask).to_vector(), keep = kMask.to_vector();
  for (const double share : {1e-6, 0.05, 0.3, 0.999, 1.0}) {
    INFO("share " << share);
    const Doubles selected = rl::kl_cov_tokens(tokens(1), tokens(2), kMask, share).to_vector();
    CHECK(count(selected) == std::max(1.0, std::floor(share * 21)));
    double least = std::numeric_limits<double>::infinity(), most_left = -least;
    for (size_t i = 0; i < keep.size(); ++i) {
      CHECK(selected[i] <= keep[i]);
      if (keep[i] == 0) continue;
      if (selected[i] != 0) least = std::min(least, covariance[i]);
      if (selected[i] == 0) most_left = std::max(most_left, covariance[i]);
    }
    CHECK(least > most_left);
  }
}

TEST_CASE("Clip-Cov draws tokens within its range, the same for the same seed", "[rl]") {
  const Doubles covariance = rl::token_covariance(tokens(1), tokens(2), kMask).to_vector(), keep = kMask.to_vector();
  const double low = -0.4, high = 0.6;
  double candidates = 0;
  for (size_t i = 0; i < keep.size(); ++i) candidates += keep[i] != 0 && covariance[i] > low && covariance[i] < high;
  REQUIRE(candidates > 5);
  REQUIRE(candidates < 21);
  Doubles drawn(40);  // how often each token was selected
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Doubles selected = clip_cov(kMask, 0.15, low, high, seed);
    CHECK(selected == clip_cov(kMask, 0.15, low, high, seed));
    CHECK(count(selected) == 3);  // .15 of 21 tokens, not of the candidates
    for (size_t i = 0; i < keep.size(); ++i) drawn[i] += selected[i];
  }
  for (size_t i = 0; i < keep.size(); ++i) {
    const bool candidate = keep[i] != 0 && covariance[i] > low && covariance[i] < high;
    CHECK((drawn[i] > 0) == candidate);  // every candidate has its chance
  }
  CHECK(count(clip_cov(kMask, 1, low, high, 3)) == candidates);
  CHECK(count(clip_cov(kMask, 1e-6, low, high, 3)) == 1);
  CHECK(count(clip_cov(kMask, 1, 50, 60, 3)) == 0);
  // A covariance at a bound is no candidate.
  const Tensor x = Tensor::from<double>({-1, 1}, {1, 2}), two = Tensor::ones({1, 2}, u8);  // both have covariance 1
  Generator generator(1);
  CHECK(count(rl::clip_cov_tokens(x, x, two, 1, 1, 5, generator).to_vector()) == 0);
  CHECK(count(rl::clip_cov_tokens(x, x, two, 1, 0, 1, generator).to_vector()) == 0);
  CHECK(count(rl::clip_cov_tokens(x, x, two, 1, 0, 1.5, generator).to_vector()) == 2);
}

TEST_CASE("the loss of each selection of tokens by hand", "[rl]") {
  const Tensor log_prob = Tensor::from<double>({-1, -2, -3}, {1, 3}), old = log_prob - 0.5;
  rl::Batch batch;
  batch.old_log_prob = batch.sampler_log_prob = old;
  batch.advantage = Tensor::from<double>({1, -1, 2}, {1, 3});
  batch.mask = Tensor::ones({1, 3}, u8);
  batch.selected = Tensor::from<uint8_t>({1, 0, 1}, {1, 3});
  rl::Algorithm a;
  a.ratio = "token";
  a.surrogate = "ratio";
  a.covariance_coef = 3;
  const double rho = std::exp(0.5);
  const auto loss = [&](const char* selection) {
    a.tokens = selection;
    return rl::token_losses(a, log_prob, batch);
  };
  check_close(loss("all"), {-rho, rho, -2 * rho}, 1e-15);
  check_close(loss("high_entropy"), {-rho, 0, -2 * rho}, 1e-15);
  check_close(loss("clip_cov"), {0, rho, 0}, 1e-15);
  check_close(loss("kl_cov"), {-rho + 1.5, rho, -2 * rho + 1.5}, 1e-15);
}

TEST_CASE("selections refuse a share out of its range and shapes that differ", "[rl]") {
  Generator generator(1);
  for (const double share : {0.0, -0.1, 1.1, kNan}) {
    CHECK(contains(error_of([&] { rl::high_entropy_tokens(tokens(1), kMask, share); }), "the share must be above 0"));
    CHECK(contains(error_of([&] { rl::kl_cov_tokens(tokens(1), tokens(2), kMask, share); }), "the share"));
    CHECK(contains(error_of([&] { rl::clip_cov_tokens(tokens(1), tokens(2), kMask, share, 0, 1, generator); }),
                   "the share"));
  }
  CHECK(contains(error_of([&] { rl::token_covariance(tokens(1), random({8, 1}, 2), kMask); }), "advantage"));
}

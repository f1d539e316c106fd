// The statistics of evaluations against enumeration of all cases, binomial sums, and published intervals.
#include <bit>
#include <cmath>
#include <numeric>

#include "rl/methods/statistics.h"
#include "tensor/base/random.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::testing;

namespace {

// f(mask) for all choices of k of n.
template <class F>
void each_choice(int n, int k, F f) {
  for (uint32_t mask = 0; mask < (1u << n); ++mask) {
    if (std::popcount(mask) == k) f(mask);
  }
}

// The vote of the chosen responses: answers[i] is the answer of response i, 0 none; right[a]: whether answer a is.
double vote_of(uint32_t mask, const std::vector<int>& answers, const std::vector<bool>& right) {
  std::vector<int> votes(right.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    if ((mask >> i & 1) && answers[i] > 0) ++votes[static_cast<size_t>(answers[i])];
  }
  const int most = *std::max_element(votes.begin(), votes.end());
  if (most == 0) return 0;
  double tied = 0, good = 0;
  for (size_t a = 1; a < votes.size(); ++a) {
    tied += votes[a] == most;
    good += votes[a] == most && right[a];
  }
  return good / tied;
}

double binomial(int n, int k) { return k == 0 ? 1 : binomial(n - 1, k - 1) * n / k; }

// The share of the outcomes of Binomial(n, p) whose interval contains p.
double coverage(int n, double p) {
  double sum = 0;
  for (int c = 0; c <= n; ++c) {
    const rl::Interval i = rl::wilson_interval(c, n);
    if (i.low <= p && p <= i.high) sum += binomial(n, c) * std::pow(p, c) * std::pow(1 - p, n - c);
  }
  return sum;
}

}  // namespace

TEST_CASE("pass at k is the share of all choices with a right response", "[rl][statistics]") {
  for (int n = 1; n <= 10; ++n) {
    for (int c = 0; c <= n; ++c) {
      for (int k = 1; k <= n; ++k) {
        double some = 0, all = 0;
        each_choice(n, k, [&](uint32_t mask) {
          ++all;
          some += (mask & ((1u << c) - 1)) != 0;
        });
        CHECK(std::abs(rl::pass_at_k(n, c, k) - some / all) < 1e-13);
      }
    }
  }
}

TEST_CASE("pass at k of many responses does not overflow", "[rl][statistics]") {
  // With one right response it is the chance to choose that one; with k = 1 the share that is right.
  CHECK(std::abs(rl::pass_at_k(100000, 1, 50000) - 0.5) < 1e-9);
  CHECK(std::abs(rl::pass_at_k(100000, 25000, 1) - 0.25) < 1e-9);
  CHECK(rl::pass_at_k(100000, 0, 50000) == 0);
  CHECK(rl::pass_at_k(100000, 50001, 50000) == 1);
}

TEST_CASE("the vote of all is the share of the most frequent answers that are right", "[rl][statistics]") {
  using Votes = std::vector<rl::AnswerCount>;
  CHECK(rl::majority_vote(Votes{{3, true}, {2, false}}) == 1);
  CHECK(rl::majority_vote(Votes{{2, true}, {2, true}, {3, false}}) == 0);
  CHECK(rl::majority_vote(Votes{{2, false}, {2, true}, {1, true}}) == 0.5);
  CHECK(rl::majority_vote(Votes{{1, false}, {1, true}, {1, true}}) == Approx(2.0 / 3));
  CHECK(rl::majority_vote(Votes{}) == 0);
  CHECK(rl::majority_vote(Votes{{0, true}}) == 0);
}

TEST_CASE("the vote of k is the mean over all choices", "[rl][statistics]") {
  Generator generator(7);
  for (int round = 0; round < 60; ++round) {
    const int n = 1 + static_cast<int>(generator.integer(9)), kinds = 1 + static_cast<int>(generator.integer(4));
    std::vector<int> answers;
    std::vector<bool> right(static_cast<size_t>(kinds) + 1);
    for (size_t a = 1; a < right.size(); ++a) right[a] = generator.integer(3) == 0;
    std::vector<rl::AnswerCount> counts(static_cast<size_t>(kinds));
    int64_t without = 0;
    for (int i = 0; i < n; ++i) {
      answers.push_back(static_cast<int>(generator.integer(kinds + 1)));
      if (answers.back() == 0) ++without;
      if (answers.back() > 0) ++counts[static_cast<size_t>(answers.back() - 1)].count;
    }
    for (size_t a = 0; a < counts.size(); ++a) counts[a].right = right[a + 1];
    for (int k = 1; k <= n; ++k) {
      double sum = 0, all = 0;
      each_choice(n, k, [&](uint32_t mask) {
        ++all;
        sum += vote_of(mask, answers, right);
      });
      INFO("n " << n << " kinds " << kinds << " k " << k);
      CHECK(std::abs(rl::majority_at_k(counts, without, k) - sum / all) < 1e-12);
    }
  }
}

TEST_CASE("the vote of k in simple cases", "[rl][statistics]") {
  const std::vector<rl::AnswerCount> tie = {{2, true}, {2, false}}, three = {{2, true}, {2, false}, {2, false}},
                                     lost = {{1, true}, {3, false}}, none = {};
  CHECK(rl::majority_at_k(tie, 0, 4) == 0.5);
  CHECK(std::abs(rl::majority_at_k(three, 5, 11) - 1.0 / 3) < 1e-15);
  CHECK(rl::majority_at_k(lost, 0, 4) == 0);
  CHECK(std::abs(rl::majority_at_k(lost, 0, 1) - 0.25) < 1e-14);
  CHECK(rl::majority_at_k(none, 3, 2) == 0);  // nobody votes
  const std::vector<rl::AnswerCount> all = {{5, true}, {7, true}, {3, true}};
  CHECK(rl::majority_at_k(all, 0, 7) == 1);
  // Two of 400 that hold one answer each half: a right pair 1/2 - e, a tie otherwise.
  const std::vector<rl::AnswerCount> half = {{200, true}, {200, false}};
  CHECK(std::abs(rl::majority_at_k(half, 0, 2) - 0.5) < 1e-11);
}

TEST_CASE("k out of range is an error", "[rl][statistics]") {
  const std::vector<rl::AnswerCount> one = {{1, true}}, none;
  CHECK(contains(error_of([] { rl::pass_at_k(8, 2, 9); }), "k is 9"));
  CHECK(contains(error_of([] { rl::pass_at_k(8, 2, 0); }), "k is 0"));
  CHECK(contains(error_of([] { rl::pass_at_k(0, 0, 1); }), "k is 1"));
  CHECK(contains(error_of([] { rl::pass_at_k(8, 9, 1); }), "9 right of 8"));
  CHECK(contains(error_of([&] { rl::majority_at_k(one, 0, 2); }), "k is 2"));
  CHECK(contains(error_of([&] { rl::majority_at_k(none, 0, 1); }), "k is 1"));
  CHECK(contains(error_of([] { rl::wilson_interval(0, 0); }), "0 of 0"));
  CHECK(contains(error_of([] { rl::wilson_interval(3, 2); }), "3 of 2"));
  CHECK(contains(error_of([] { rl::bootstrap_interval({}); }), "no values"));
  CHECK(contains(error_of([] { rl::estimate({}); }), "no values"));
  CHECK(contains(error_of([] { rl::mcnemar_p(-1, 2); }), "-1 and 2"));
}

TEST_CASE("the interval of Wilson", "[rl][statistics]") {
  // Newcombe 1998 (Statist. Med. 17:857), table I, the score method without continuity correction.
  struct Case {
    int64_t c, n;
    double low, high;
  };
  for (const Case& x :
       {Case{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}}) {
    const rl::Interval i = rl::wilson_interval(x.c, x.n);
    CHECK(std::abs(i.low - x.low) < 5.1e-5);
    CHECK(std::abs(i.high - x.high) < 5.1e-5);
  }
  // Its ends are where the test's statistic is 1.96.
  for (int64_t c = 0; c <= 17; ++c) {
    const rl::Interval i = rl::wilson_interval(c, 17);
    for (const double p : {i.low, i.high}) {
      if (p == 0 || p == 1) continue;
      CHECK(std::abs(std::abs(static_cast<double>(c) / 17 - p) / std::sqrt(p * (1 - p) / 17) - 1.959963984540054) <
            1e-12);
    }
  }
  CHECK(rl::wilson_interval(0, 5).low == 0);
  CHECK(rl::wilson_interval(5, 5).high == 1);
  CHECK(std::abs(rl::wilson_interval(5, 5).low - (1 - rl::wilson_interval(0, 5).high)) < 1e-15);
}

TEST_CASE("the interval of Wilson covers the proportion in 95 percent of all outcomes", "[rl][statistics]") {
  for (const int n : {10, 50, 200}) {
    double sum = 0, least = 1;
    int count = 0;
    for (double p = 0.05; p < 0.9501; p += 0.0005, ++count) {
      const double c = coverage(n, p);
      sum += c;
      least = std::min(least, c);
    }
    INFO("n " << n);
    CHECK(std::abs(sum / count - 0.95) < 0.01);
    CHECK(least > 0.89);
  }
}

TEST_CASE("the bootstrap has the quantiles of all resamples", "[rl][statistics]") {
  // A resample of 5 zeros and 5 ones has Binomial(10, 1/2) ones: P(at most 1) = 11/1024 < 2.5 % < P(at most 2) =
  // 56/1024.
  const std::vector<double> half = {0, 0, 0, 0, 0, 1, 1, 1, 1, 1};
  for (const uint64_t seed : {1, 2, 3}) {
    const rl::Interval i = rl::bootstrap_interval(half, {.seed = seed});
    CHECK(i.low == 0.2);
    CHECK(i.high == 0.8);
  }
  // All 3^3 resamples of three values: the mean is below 2/3 (that of 1, 1, 0 is 2/3) ... 1/27 = 3.7 % are all zeros.
  const std::vector<double> three = {0, 3, 9};
  const rl::Interval i = rl::bootstrap_interval(three, {.resamples = 20000});
  CHECK(i.low == 0);
  CHECK(i.high == 9);
  // Many values: the normal interval of their mean.
  std::vector<double> many(2000);
  Generator generator(5);
  for (double& x : many) x = generator.normal();
  const double mean = std::accumulate(many.begin(), many.end(), 0.0) / 2000;
  double squares = 0;
  for (const double x : many) squares += (x - mean) * (x - mean);
  const double half_width = 1.96 * std::sqrt(squares / 2000 / 2000);
  const rl::Interval normal = rl::bootstrap_interval(many);
  CHECK(std::abs(normal.low - (mean - half_width)) < 0.1 * half_width);
  CHECK(std::abs(normal.high - (mean + half_width)) < 0.1 * half_width);
}

TEST_CASE("the bootstrap repeats with its seed", "[rl][statistics]") {
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back(std::sin(i));
  const rl::Interval a = rl::bootstrap_interval(values), b = rl::bootstrap_interval(values);
  const rl::Interval other = rl::bootstrap_interval(values, {.seed = 2});
  CHECK((a.low == b.low && a.high == b.high));
  CHECK((a.low != other.low || a.high != other.high));
  const std::vector<double> one = {0.25}, same(10, 0.5);
  CHECK((rl::bootstrap_interval(one).low == 0.25 && rl::bootstrap_interval(one).high == 0.25));
  CHECK((rl::bootstrap_interval(same).low == 0.5 && rl::bootstrap_interval(same).high == 0.5));
  CHECK(contains(error_of([&] { rl::bootstrap_interval(values, {.resamples = 39}); }), "39 resamples"));
}

TEST_CASE("an estimate of shares takes the interval of Wilson", "[rl][statistics]") {
  const std::vector<double> zeros(20, 0), shares = {0, 0.5, 1};
  const rl::Estimate none = rl::estimate(zeros);
  CHECK(none.wilson);
  CHECK(none.value == 0);
  CHECK(std::abs(none.interval.high - 0.1611) < 5.1e-5);  // not the bootstrap's 0
  const rl::Estimate some = rl::estimate(shares);
  CHECK_FALSE(some.wilson);
  CHECK(some.value == 0.5);
  CHECK(some.interval.low < 0.5);
}

TEST_CASE("McNemar's test is that of a fair coin", "[rl][statistics]") {
  for (int first = 0; first <= 12; ++first) {
    for (int second = 0; second <= 12; ++second) {
      // All sequences of tosses with at most as many of the rarer side, on either side.
      const int n = first + second, fewest = std::min(first, second);
      double extreme = 0;
      for (int i = 0; i <= n; ++i) {
        if (std::min(i, n - i) <= fewest) extreme += binomial(n, i);
      }
      CHECK(std::abs(rl::mcnemar_p(first, second) - std::min(1.0, extreme / std::pow(2, n))) < 1e-12);
    }
  }
  CHECK(rl::mcnemar_p(0, 0) == 1);
  CHECK(rl::mcnemar_p(0, 5) == Approx(2.0 / 32).epsilon(1e-12));
  CHECK(rl::mcnemar_p(10000, 10000) == 1);
  CHECK(rl::mcnemar_p(0, 2000) == 0);  // 2^-1999 is below the smallest double
}

TEST_CASE("the vote of many responses is that of many tosses", "[rl][statistics]") {
  // Two answers: the right one wins with more than half of k = 101, so the vote is a tail of the hypergeometric
  // distribution. 400 others have answers of their own, which lose against any answer that two have.
  double tail = 0, all = 0;
  const auto log_choose = [](double n, double k) {
    return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  };
  for (int x = 0; x <= 101; ++x) {
    const double p = std::exp(log_choose(300, x) + log_choose(280, 101 - x) - log_choose(580, 101));
    all += p;
    if (x > 50) tail += p;
  }
  REQUIRE(all == Approx(1).epsilon(1e-10));
  const std::vector<rl::AnswerCount> two = {{300, true}, {280, false}};
  CHECK(rl::majority_at_k(two, 0, 101) == Approx(tail).epsilon(1e-9));
  // A right answer of 600 among 1,000 whose other answers are all different always wins a vote of 450, and of three:
  // two or three of it win, of one of it and two others a third.
  std::vector<rl::AnswerCount> most = {{600, true}};
  for (int i = 0; i < 400; ++i) most.push_back({1, false});
  CHECK(rl::majority_at_k(most, 0, 450) == Approx(1).epsilon(1e-9));
  const double choices = binomial(1000, 3);
  const double wins = binomial(600, 3) + binomial(600, 2) * 400 + 600 * binomial(400, 2) / 3;
  CHECK(rl::majority_at_k(most, 0, 3) == Approx(wins / choices).epsilon(1e-10));
}

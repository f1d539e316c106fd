#pragma once
// Statistics of evaluations: what several responses to each problem say about a model, how exactly a number is known,
// and whether two models differ. All intervals are those of 95 %.
#include <cstdint>
#include <span>
#include <vector>

namespace pg::rl {

// The larger of two numbers; NaN if one of them is, so that a check does not lose a NaN as with std::max.
inline double max_with_nan(double a, double b) { return b > a || b != b ? b : a; }

struct Interval {
  double low = 0, high = 0;
};

// The probability that at least one of k responses is right, of n of which c are: 1 - C(n - c, k) / C(n, k), the
// unbiased estimator (Chen et al. 2021, "Evaluating Large Language Models Trained on Code", arXiv:2107.03374). Error
// unless 1 <= k <= n and 0 <= c <= n.
double pass_at_k(int64_t n, int64_t c, int64_t k);

// Equal answers among the responses to one problem.
struct AnswerCount {
  int64_t count = 0;
  bool right = false;
};
// The share of the most frequent answers that are right: 1 or 0, or between them if several are equally frequent and
// some of them are right. 0 if nobody votes.
double majority_vote(std::span<const AnswerCount> answers);
// The probability that the most frequent answer among k of the n responses is right: the mean of majority_vote() over
// all C(n, k) choices (majority vote, "self-consistency": Wang et al. 2023, arXiv:2203.11171). Each of m
// equally frequent answers is taken with probability 1/m. `without` responses have no answer and do not vote; a choice
// without any vote is wrong. n is the sum of all counts. Error unless 1 <= k <= n.
double majority_at_k(std::span<const AnswerCount> answers, int64_t without, int64_t k);

// The score interval of a proportion (Wilson 1927, JASA 22:209): all p with |c/n - p| <= 1.96 sqrt(p (1 - p) / n).
// Error unless 0 <= c <= n and n >= 1.
Interval wilson_interval(int64_t c, int64_t n);

// The percentile interval of the mean of the values (Efron 1979, Ann. Statist. 7:1), from means of as many values drawn
// with replacement: the 2.5 % and 97.5 % order statistics. A value belongs to a problem, so that several responses to
// one problem are not taken for independent ones. With the differences of two models on the same problems it is the
// paired interval. The same seed gives the same bits. Error if there are no values.
struct BootstrapOptions {
  int64_t resamples = 2000;
  uint64_t seed = 1;
};
Interval bootstrap_interval(std::span<const double> values, const BootstrapOptions& options = {});

// McNemar's exact test (McNemar 1947, Psychometrika 12:153): the two-sided p of `first` problems that only the first
// model solves and `second` that only the second solves, if both models were equally good: each such problem is then
// the toss of a fair coin. 1 if there are none.
double mcnemar_p(int64_t first, int64_t second);

// A mean over problems with its interval: Wilson's if each value is 0 or 1, otherwise the bootstrap's, which is a
// single point if all values are equal.
struct Estimate {
  double value = 0;
  Interval interval;
  bool wilson = false;
};
Estimate estimate(std::span<const double> values);

}  // namespace pg::rl

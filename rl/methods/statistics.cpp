// Estimators and intervals for evaluations.
#include "rl/methods/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/base/error.h"
#include "tensor/base/random.h"

namespace pg::rl {
namespace {

constexpr double kZ = 1.959963984540054;  // the 97.5 % quantile of the normal distribution

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// log i! for i from 0 to n.
std::vector<double> log_factorials(int64_t n) {
  std::vector<double> all;
  for (int64_t i = 0; i <= n; ++i) all.push_back(std::lgamma(static_cast<double>(i) + 1));
  return all;
}

// The expected value of the vote, restricted to draws of k responses whose most frequent answers occur `most` times.
// Answers that fewer than `most` responses have do not matter: they count as `others`,
// with those that have no answer.
//
// The answers are added one after the other. Among the n responses so far, a random choice of s of them has, with
// probability all(s, t), no answer more than `most` times and t answers as often. right(s, t) is the mean, over the
// same choices, of how many of these t are right.
class VotesOf {
 public:
  // ties: the number of answers with at least `most` responses.
  VotesOf(int64_t k, int64_t most, int64_t ties, int64_t others, const std::vector<double>& log_factorial)
      : k_(k),
        most_(most),
        ties_(std::min(ties, k / most)),
        n_(others),
        log_factorial_(log_factorial),
        all_(static_cast<size_t>((k + 1) * (ties_ + 1))),
        right_(all_.size()) {
    for (int64_t s = 0; s <= std::min(k, others); ++s) all_[at(s, 0)] = 1;
  }

  void add(const AnswerCount& a) {
    std::vector<double> all(all_.size()), right(all_.size());
    for (int64_t s = 0; s <= std::min(k_, n_); ++s) {
      for (int64_t x = 0; x <= std::min({a.count, most_, k_ - s}); ++x) {
        // That of s + x of the n + count, x are this answer.
        const double p = std::exp(log_choose(n_, s) + log_choose(a.count, x) - log_choose(n_ + a.count, s + x));
        const bool tied = x == most_;
        for (int64_t t = 0; t + tied <= ties_; ++t) {
          all[at(s + x, t + tied)] += p * all_[at(s, t)];
          right[at(s + x, t + tied)] += p * (right_[at(s, t)] + (tied && a.right ? all_[at(s, t)] : 0));
        }
      }
    }
    all_.swap(all);
    right_.swap(right);
    n_ += a.count;
  }

  double worth() const {
    double sum = 0;
    for (int64_t t = 1; t <= ties_; ++t) sum += right_[at(k_, t)] / static_cast<double>(t);
    return sum;
  }

 private:
  size_t at(int64_t s, int64_t t) const { return static_cast<size_t>(s * (ties_ + 1) + t); }
  double log_choose(int64_t n, int64_t k) const {
    return log_factorial_[static_cast<size_t>(n)] - log_factorial_[static_cast<size_t>(k)] -
           log_factorial_[static_cast<size_t>(n - k)];
  }

  int64_t k_, most_, ties_, n_;
  const std::vector<double>& log_factorial_;
  std::vector<double> all_, right_;
};

}  // namespace

double pass_at_k(int64_t n, int64_t c, int64_t k) {
  check(0 <= c && c <= n, "pass_at_k: {} right of {} responses", c, n);
  check(1 <= k && k <= n, "pass_at_k: k is {}, expected 1 to the number of responses, {}", k, n);
  if (n - c < k) return 1;
  double none = 1;  // C(n - c, k) / C(n, k) as the product of (1 - k/i) for i from n - c + 1 to n
  for (int64_t i = n - c + 1; i <= n; ++i) none *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - none;
}

double majority_vote(std::span<const AnswerCount> answers) {
  int64_t most = 0, tied = 0, right = 0;
  for (const AnswerCount& a : answers) most = std::max(most, a.count);
  for (const AnswerCount& a : answers) {
    tied += a.count == most;
    right += a.count == most && a.right;
  }
  return most == 0 ? 0 : static_cast<double>(right) / static_cast<double>(tied);
}

double majority_at_k(std::span<const AnswerCount> answers, int64_t without, int64_t k) {
  int64_t n = without, most_right = 0;
  for (const AnswerCount& a : answers) {
    check(a.count >= 0, "majority_at_k: an answer that {} responses have", a.count);
    n += a.count;
    if (a.right) most_right = std::max(most_right, a.count);
  }
  check(without >= 0, "majority_at_k: {} responses without an answer", without);
  check(1 <= k && k <= n, "majority_at_k: k is {}, expected 1 to the number of responses, {}", k, n);
  if (k == n) return majority_vote(answers);
  const std::vector<double> log_factorial = log_factorials(n);
  double worth = 0;
  for (int64_t most = 1; most <= std::min(k, most_right); ++most) {
    int64_t others = n, ties = 0;
    for (const AnswerCount& a : answers) {
      if (a.count < most) continue;
      others -= a.count;
      ++ties;
    }
    VotesOf votes(k, most, ties, others, log_factorial);
    for (const AnswerCount& a : answers) {
      if (a.count >= most) votes.add(a);
    }
    worth += votes.worth();
  }
  return worth > 1 - 1e-12 ? 1 : worth;  // the sums are rounded
}

Interval wilson_interval(int64_t c, int64_t n) {
  check(n >= 1 && 0 <= c && c <= n, "wilson_interval: {} of {}", c, n);
  const auto size = static_cast<double>(n);
  const double p = static_cast<double>(c) / size, z2 = kZ * kZ / size;
  const double middle = (p + z2 / 2) / (1 + z2);
  const double half = kZ / (1 + z2) * std::sqrt(p * (1 - p) / size + z2 / (4 * size));
  return {c == 0 ? 0 : middle - half, c == n ? 1 : middle + half};
}

Interval bootstrap_interval(std::span<const double> values, const BootstrapOptions& o) {
  check(!values.empty(), "bootstrap_interval: there are no values");
  check(o.resamples >= 40, "bootstrap_interval: {} resamples; at least 40 have values beyond 2.5 %", o.resamples);
  Generator generator(o.seed);
  std::vector<double> means(static_cast<size_t>(o.resamples));
  for (double& mean : means) {
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i)
      sum += values[static_cast<size_t>(generator.integer(std::ssize(values)))];
    mean = sum / static_cast<double>(values.size());
  }
  std::sort(means.begin(), means.end());
  const auto beyond = static_cast<size_t>(o.resamples / 40);
  return {means[beyond], means[means.size() - 1 - beyond]};
}

double mcnemar_p(int64_t first, int64_t second) {
  check(first >= 0 && second >= 0, "mcnemar_p: {} and {} problems", first, second);
  const int64_t n = first + second;
  const std::vector<double> log_factorial = log_factorials(n);
  const auto log_of = [&](int64_t i) { return log_factorial[static_cast<size_t>(i)]; };
  double tail = 0;
  for (int64_t i = 0; i <= std::min(first, second); ++i) {
    tail += std::exp(log_of(n) - log_of(i) - log_of(n - i) - static_cast<double>(n) * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

Estimate estimate(std::span<const double> values) {
  check(!values.empty(), "estimate: there are no values");
  const bool proportion = std::all_of(values.begin(), values.end(), [](double x) { return x == 0 || x == 1; });
  if (!proportion) return {mean_of(values), bootstrap_interval(values), false};
  const auto ones = static_cast<int64_t>(std::count(values.begin(), values.end(), 1.0));
  return {mean_of(values), wilson_interval(ones, std::ssize(values)), true};
}

}  // namespace pg::rl

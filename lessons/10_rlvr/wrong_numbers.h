#pragma once
// Wrong answers to 10.5, 10.6 and 10.7: an estimate, a progress and a vote with one mistake of many.
#include <algorithm>
#include <cmath>

#include "lessons/10_rlvr/lesson.h"
#include "tensor/base/error.h"

namespace pg::lesson10 {

enum class Pass {
  naive,
  mean,
  expected,
  threshold,
  none,
  all,
  factorials,
  binomials,
  unchecked,
  clamps,
  whole,
  short_loop,
  long_loop,
  wrong_ones,
  same_total,
  k_n,
  in_float
};
template <Pass mistake>
double wrong_pass(int64_t n, int64_t c, int64_t k) {
  if (mistake == Pass::clamps) k = std::min(k, n);
  if (mistake != Pass::unchecked) check(0 <= c && c <= n && 1 <= k && k <= n, "pass_at_k: {} {} {}", n, c, k);
  const double p = static_cast<double>(c) / static_cast<double>(n);
  if (mistake == Pass::naive) return 1 - std::pow(1 - p, static_cast<double>(k));
  if (mistake == Pass::mean) return p;
  if (mistake == Pass::expected) return p * static_cast<double>(k);
  if (mistake == Pass::threshold) return c * k >= n ? 1 : 0;
  if (mistake == Pass::unchecked)
    return n < k || n < c ? 1 : rl::pass_at_k(n, std::max<int64_t>(0, c), std::max<int64_t>(1, k));
  if (mistake == Pass::none) return 1 - rl::pass_at_k(n, c, k);
  if (mistake == Pass::all) return c == n ? 1 : 1 - rl::pass_at_k(n, n - c, k);
  if (mistake == Pass::k_n) check(k < n, "pass_at_k: {} {} {}", n, c, k);
  if (mistake == Pass::in_float) {
    float left = 1;
    for (int64_t i = 0; i < k; ++i)
      left *= static_cast<float>(std::max<int64_t>(0, n - c - i)) / static_cast<float>(n - i);
    return 1 - left;
  }
  if (mistake >= Pass::whole) {
    double none = 1;
    const int64_t wrong = mistake == Pass::wrong_ones ? c : n - c;
    for (int64_t i = 0; i < k + (mistake == Pass::long_loop) - (mistake == Pass::short_loop) && i < n; ++i) {
      if (wrong - i <= 0) return 1;
      none *= mistake == Pass::whole
                  ? static_cast<double>((wrong - i) / (n - i))
                  : static_cast<double>(wrong - i) / static_cast<double>(mistake == Pass::same_total ? n : n - i);
    }
    return 1 - none;
  }
  if (mistake == Pass::clamps) return rl::pass_at_k(n, c, k);
  if (n - c < k) return 1;
  if (mistake == Pass::binomials) {
    const auto choose = [](int64_t from, int64_t of) {
      uint64_t result = 1;
      for (int64_t i = 1; i <= of; ++i)
        result = result * static_cast<uint64_t>(from - of + i) / static_cast<uint64_t>(i);
      return static_cast<double>(result);
    };
    return 1 - choose(n - c, k) / choose(n, k);
  }
  const auto factorial = [](int64_t m) { return std::tgamma(static_cast<double>(m) + 1); };
  return 1 - factorial(n - c) / factorial(n - c - k) * (factorial(n - k) / factorial(n));
}

enum class Way {
  per_move,
  best,
  disks,
  skips,
  keeps,
  goes_on,
  negative,
  left,
  zero,
  whole,
  tower,
  stops,
  absolute,
  too_late
};
template <Way mistake>
double wrong_progress(HanoiPosition position, std::span<const HanoiMove> moves) {
  const auto before = static_cast<double>(hanoi_distance(position));
  const auto on_goal = [&] {
    return static_cast<double>(std::count(position.peg.begin(), position.peg.end(), position.goal));
  };
  double best = 0, made = 0;
  const auto share = [&] { return (before - static_cast<double>(hanoi_distance(position))) / before; };
  for (const HanoiMove& m : moves) {
    if (position.solved() && mistake == Way::stops) break;
    if (position.solved() && mistake != Way::goes_on) return 0;
    if (!position.move(m.from, m.to)) {
      if (mistake == Way::skips) continue;
      return mistake == Way::keeps && before > 0 ? std::max(0.0, share()) : 0;
    }
    made += 1;
    best = std::max(best, share());
  }
  if (before == 0) return mistake == Way::zero ? 0 : 1;
  if (mistake == Way::best) return best;
  if (mistake == Way::per_move) return std::min(1.0, made / before);
  if (mistake == Way::disks) return on_goal() / static_cast<double>(position.peg.size());
  if (mistake == Way::left) return 1 - share();
  if (mistake == Way::negative) return share();
  if (mistake == Way::absolute) return std::abs(share());
  if (mistake == Way::whole) return std::max(0.0, std::trunc(share()));
  if (mistake == Way::tower) return std::max(0.0, share() * before / (std::pow(2, position.peg.size()) - 1));
  if (mistake == Way::too_late) return position.solved() ? 1 : 0;
  return std::max(0.0, share());
}

enum class Vote {
  first,
  last,
  ties_right,
  ties_wrong,
  any,
  share,
  pooled,
  no_votes,
  zero_counts,
  position,
  whole,
  absolute,
  no_check
};
template <Vote mistake>
double wrong_vote(std::span<const AnswerCount> answers) {
  int64_t most = 0, all = 0, right_votes = 0;
  for (const AnswerCount& a : answers) {
    most = std::max(most, a.count);
    all += a.count;
    right_votes += a.right ? a.count : 0;
  }
  const auto share = [](int64_t p, int64_t q) { return static_cast<double>(p) / static_cast<double>(q); };
  if (mistake == Vote::position) return !answers.empty() && most > 0 && answers[0].right ? 1 : 0;
  if (mistake == Vote::no_check) {
    const auto by_count = [](const AnswerCount& a, const AnswerCount& b) { return a.count < b.count; };
    most = std::max_element(answers.begin(), answers.end(), by_count)->count;
  }
  if (mistake == Vote::absolute) {
    for (const AnswerCount& a : answers)
      if (2 * a.count > all) return a.right ? 1 : 0;
    return 0;
  }
  if (most == 0 && mistake != Vote::no_votes && mistake != Vote::zero_counts) return 0;
  if (answers.empty() && mistake == Vote::zero_counts) return 0;
  if (mistake == Vote::any) return right_votes > 0 ? 1 : 0;
  if (mistake == Vote::share) return share(right_votes, all);
  if (mistake == Vote::pooled && 2 * right_votes > all) return 1;
  int64_t tied = 0, right = 0;
  double first = -1, last = 0;
  for (const AnswerCount& a : answers) {
    if (a.count != most) continue;
    ++tied;
    right += a.right;
    last = a.right ? 1 : 0;
    if (first < 0) first = last;
  }
  if (mistake == Vote::first) return first;
  if (mistake == Vote::last) return last;
  if (mistake == Vote::ties_right) return right > 0 ? 1 : 0;
  if (mistake == Vote::whole) return static_cast<double>(right / tied);
  if (mistake == Vote::ties_wrong) return right == tied ? 1 : 0;
  return share(right, tied);
}

}  // namespace pg::lesson10

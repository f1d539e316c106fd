#pragma once
// Wrong answers to 10.5: an estimate with one mistake of many.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "lessons/10_rlvr/lesson.h"
#include "lessons/kit/mistakes.h"
#include "tensor/base/error.h"

namespace pg::lesson10 {
using kit::Name;

template <Name mistake>
double wrong_pass(int64_t n, int64_t c, int64_t k) {
  if (mistake == "clamps") k = std::min(k, n);
  if (mistake == "foreign" && !(0 <= c && c <= n && 1 <= k && k <= n)) throw std::invalid_argument("pass_at_k");
  if (mistake != "unchecked") check(0 <= c && c <= n && 1 <= k && k <= n, "pass_at_k: {} {} {}", n, c, k);
  const double p = static_cast<double>(c) / static_cast<double>(n);
  if (mistake == "naive") return 1 - std::pow(1 - p, static_cast<double>(k));
  if (mistake == "mean") return p;
  if (mistake == "expected") return p * static_cast<double>(k);
  if (mistake == "threshold") return c * k >= n ? 1 : 0;
  if (mistake == "unchecked")
    return n < k || n < c ? 1 : rl::pass_at_k(n, std::max<int64_t>(0, c), std::max<int64_t>(1, k));
  if (mistake == "none") return 1 - rl::pass_at_k(n, c, k);
  if (mistake == "all") return c == n ? 1 : 1 - rl::pass_at_k(n, n - c, k);
  if (mistake == "k_n") check(k < n, "pass_at_k: {} {} {}", n, c, k);
  if (mistake == "clamps") return rl::pass_at_k(n, c, k);
  if (mistake == "binomials") {
    const auto choose = [](int64_t from, int64_t of) {
      uint64_t result = 1;
      for (int64_t i = 1; i <= of; ++i)
        result = result * static_cast<uint64_t>(from - of + i) / static_cast<uint64_t>(i);
      return static_cast<double>(result);
    };
    return n - c < k ? 1 : 1 - choose(n - c, k) / choose(n, k);
  }
  if (mistake == "factorials") {
    const auto factorial = [](int64_t m) { return std::tgamma(static_cast<double>(m) + 1); };
    return n - c < k ? 1 : 1 - factorial(n - c) / factorial(n - c - k) * (factorial(n - k) / factorial(n));
  }
  double none = 1;
  const int64_t wrong = mistake == "wrong_ones" ? c : n - c;
  for (int64_t i = 0; i < k + (mistake == "long_loop") - (mistake == "short_loop") && i < n; ++i) {
    if (wrong - i <= 0) return 1;
    none *= mistake == "whole"
                ? static_cast<double>((wrong - i) / (n - i))
                : static_cast<double>(wrong - i) / static_cast<double>(mistake == "same_total" ? n : n - i);
  }
  return 1 - none;
}

}  // namespace pg::lesson10

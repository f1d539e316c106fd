#include <algorithm>
#include <cmath>

#include "tasks/grade/compare.h"
#include "tasks/grade/numeric.h"
#include "tasks/grade/parser.h"
#include "tasks/grade/polynomial.h"
#include "tensor/base/error.h"

namespace pg::grading {
namespace {

Verdict yes(std::string rule, std::string reason) { return {Verdict::Kind::yes, std::move(reason), std::move(rule)}; }
Verdict no(std::string rule, std::string reason) { return {Verdict::Kind::no, std::move(reason), std::move(rule)}; }
Verdict unknown(std::string rule, std::string reason) {
  return {Verdict::Kind::unknown, std::move(reason), std::move(rule)};
}

// Values at points where the variables are real: 6 with positive variables, 8 with any sign.
Verdict compare_values(const Node& a, const Node& b, Work& work) {
  std::set<std::string> names;
  collect_variables(a, names);
  collect_variables(b, names);
  const int points = names.empty() ? 1 : 14;
  int equal = 0;
  std::string trouble = "no value";
  Budget budget(work);
  const uint64_t seed = hash_of(to_text(a), hash_of(to_text(b)));
  for (int i = 0; i < points; ++i) {
    Point point;
    for (const std::string& name : names) {
      const uint64_t bits = hash_of(name, seed + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull);
      const long double unit = static_cast<long double>(bits >> 11) * 0x1p-53L;
      point[name] = i < 6 ? 0.25L + 2.5L * unit : -3 + 6 * unit;
    }
    try {
      const Ball x = evaluate(a, point, budget), y = evaluate(b, point, budget);
      const long double difference = std::abs(x.value - y.value), bound = x.error + y.error;
      const long double size = std::max(std::abs(x.value), std::abs(y.value));
      if (difference > 4 * bound) {
        if (names.empty()) return no("points", "the values differ");
        // ln(x^2) and 2 ln(x) differ for negative x, where one is not real: whether that counts is not decided here.
        if (i < 6 || equal < 6 || (x.is_real() && y.is_real())) return no("points", "the values differ at a point");
        return unknown("points",
                       "the values are equal for positive variables; for others they differ and are not real");
      }
      check(bound <= 1e-12L * std::max(size, 1e-3L), "the values are not precise enough");
      ++equal;
    } catch (const Error& e) {
      trouble = e.what();
    }
  }
  if (names.empty() ? equal == 0 : equal < 8) return unknown("points", "undecided: " + trouble);
  if (longest_decimal(a) > 6 || longest_decimal(b) > 6) {
    return unknown("points", "the values agree to 12 digits, and one is a decimal fraction");
  }
  return yes("points", names.empty() ? "the values agree to more than 12 digits"
                                     : fmt::format("the values agree at {} points", equal));
}

// Nothing if the expressions have other operations than + - * / ^ or no value at most points.
std::optional<Verdict> compare_modulo(const Node& a, const Node& b, Work& work) {
  const uint64_t seed = hash_of(to_text(a), hash_of(to_text(b)));
  Budget budget(work);
  try {
    int equal = 0;
    for (uint64_t i = 0; i < 8; ++i) {
      const uint64_t prime = kPrimes[i % 2], point = seed + i * 0x9e3779b97f4a7c15ull;
      const auto x = evaluate_modulo(a, prime, point, budget), y = evaluate_modulo(b, prime, point, budget);
      if (!x || !y) continue;
      if (*x != *y) return no("primes", "the values differ modulo a prime");
      ++equal;
    }
    if (equal >= 6) return yes("primes", fmt::format("the values agree at {} points modulo two primes", equal));
  } catch (const Error&) {
  }
  return {};
}

}  // namespace

Verdict same_value(const Node& a, const Node& b, Work& work) {
  std::string trouble;
  try {
    Budget budget(work);
    Algebra algebra(budget);
    const Quotient x = normal_form(a, algebra, budget), y = normal_form(b, algebra, budget);
    const bool same = algebra.same(x, y);
    if (!same && algebra.decides(x, y)) return no("normal form", "the normal forms differ");
    if (same) {
      if (algebra.safe_bottom(x) && algebra.safe_bottom(y)) return yes("normal form", "the normal forms are equal");
      const Verdict values = compare_values(a, b, work);
      if (values.kind != Verdict::Kind::no) return values;
      return unknown("normal form", "the normal forms are equal, and the values differ at a point");
    }
  } catch (const Error& e) {
    trouble = e.what();
    if (trouble == "a division by zero") return unknown("normal form", trouble);
    if (const auto verdict = compare_modulo(a, b, work)) return *verdict;
  }
  Verdict verdict = compare_values(a, b, work);
  if (verdict.kind == Verdict::Kind::unknown && !trouble.empty()) verdict.reason = "undecided: " + trouble;
  return verdict;
}

Verdict proportional(const Node& a, const Node& b, bool positive, Work& work) {
  try {
    Budget budget(work);
    Algebra algebra(budget);
    const Quotient x = normal_form(a, algebra, budget), y = normal_form(b, algebra, budget);
    const auto factor = algebra.ratio(x, y);
    if (factor && *factor != 0 && (!positive || *factor > 0) && algebra.safe_bottom(x) && algebra.safe_bottom(y)) {
      return yes("normal form", "the same but for a factor");
    }
    if (!factor && algebra.decides(x, y)) return no("normal form", "not the same but for a rational factor");
    if (factor && positive && *factor < 0) return no("normal form", "the signs differ");
    return unknown("normal form", "undecided: functions in an equation");
  } catch (const Error& e) {
    return unknown("limits", fmt::format("undecided: {}", e.what()));
  }
}

}  // namespace pg::grading

#include <algorithm>
#include <cmath>
#include <set>

#include "tasks/grade/compare.h"
#include "tasks/grade/numeric.h"
#include "tensor/base/error.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

bool has_letters(const Node& node) {
  std::set<std::string> names;
  collect_variables(node, names);
  return !names.empty();
}

// 2x, x + 1 or x^2, but not f(3), cos x or |z|: what an equation to solve has on its left.
bool is_expression_of_one_letter(const Node& node) {
  std::set<std::string> names;
  collect_variables(node, names);
  return names.size() == 1 && !is_name(node) && !has_kind(node, Kind::function) && !has_kind(node, Kind::absolute);
}

// Whether the rounding of a value to the places of a decimal number is that number; one unit in the last place is
// allowed behind the point, where digits may have been cut off.
bool rounds_to(const Node& exact, const Node& rounded, Work& work) {
  try {
    Budget budget(work);
    const Ball x = evaluate(exact, {}, budget), y = evaluate(rounded, {}, budget);
    const int places = std::max(longest_decimal(exact), longest_decimal(rounded));
    const long double unit = places == 0 ? 0.5L : std::pow(10.0L, -static_cast<long double>(places));
    return std::abs(x.value - y.value) <= unit * 1.000001L + x.error + y.error;
  } catch (const Error&) {
    return false;
  }
}

// Whether two neighbours in a chain that have no letters cannot both be the answer.
bool contradict(const Node& a, const Node& b, bool rounded, Work& work) {
  if (has_letters(a) || has_letters(b)) return false;
  if (rounded) return !rounds_to(a, b, work);
  return compare_answers(a, b, work).kind == Verdict::Kind::no;
}

}  // namespace

std::optional<Verdict> compare_stated(const Node& given, const Node& gold, Work& work) {
  if (given.kind != Kind::relation || has_kind(gold, Kind::relation)) return {};
  const auto& sides = given.children;
  const auto& signs = given.relations;
  if (std::any_of(signs.begin(), signs.end(), [](const auto& sign) { return sign != "=" && sign != "~"; })) return {};
  if (signs.size() == 1 && (is_name(sides[0]) || sides[1].kind == Kind::variable)) return {};
  if (is_expression_of_one_letter(sides[0])) return {};
  for (size_t i = 0; i < signs.size(); ++i) {
    if (contradict(sides[i], sides[i + 1], signs[i] == "~", work)) return no("the sides of the equation differ");
  }
  Verdict verdict = compare_answers(sides.back(), gold, work);
  const Node& before = sides[sides.size() - 2];
  const bool exact = signs.back() == "~" && !is_name(before);
  const bool turned = signs.size() == 1 && has_letters(sides[1]) && !has_letters(before);  // 42 = m + n
  if (verdict.kind != Verdict::Kind::yes && (exact || turned)) verdict = compare_answers(before, gold, work);
  if (verdict.kind == Verdict::Kind::yes) verdict.reason = "the value of the equation: " + verdict.reason;
  return verdict;
}

}  // namespace pg::grading

#include "tasks/grade/intervals.h"

#include <algorithm>
#include <cmath>

#include "tasks/grade/compare.h"
#include "tasks/grade/numeric.h"
#include "tensor/base/error.h"

namespace pg::grading {
namespace {

using Kind = Node::Kind;

Node infinity(int sign) {
  Node node = make_name(Kind::infinity, "");
  return sign < 0 ? negated(std::move(node)) : node;
}

// -1 or 1 for infinities, else 0.
int infinite(const Node& node) {
  if (node.kind == Kind::infinity) return 1;
  if (node.kind == Kind::product && node.children.size() == 2 && node.children[1].kind == Kind::infinity) return -1;
  if (node.kind == Kind::plus_minus || node.kind != Kind::sum || node.children.size() != 1) return 0;
  return infinite(node.children[0]);
}

class Builder {
 public:
  explicit Builder(Work& work) : work_(work), budget_(work) {}

  bool add(const Node& node, bool plain_groups) {
    if (node.kind == Kind::group && node.children.size() == 2) {
      const bool plain = node.open == '(' && node.close == ')';
      const bool open_end = infinite(node.children[0]) != 0 || infinite(node.children[1]) != 0;
      if ((plain || (node.open == '[' && node.close == ']')) && !plain_groups && !open_end) return false;
      return add(node.children[0], node.children[1], node.open == '[', node.close == ']');
    }
    if (node.kind == Kind::set && plain_groups) {
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](const Node& point) { return add(point, point, true, true); });
    }
    if (node.kind == Kind::set_difference) return add_difference(node);
    if (node.kind == Kind::set_union) {
      return std::all_of(node.children.begin(), node.children.end(), [&](const Node& part) { return add(part, true); });
    }
    if (node.kind == Kind::member) {
      return named(node.children[0]) && add(node.children[1], true);
    }
    if (node.kind == Kind::list && node.name != "or") {  // all conditions hold, or one if all cannot
      if (const auto common = intersection_of(node); !common || add_all(*common)) return common.has_value();
    }
    if (node.kind == Kind::list) {
      return std::all_of(node.children.begin(), node.children.end(), [&](const Node& part) {
        return (part.kind == Kind::relation || part.kind == Kind::member) && add(part, true);
      });
    }
    return node.kind == Kind::relation && add_relation(node);
  }

  // Sorts and merges. False if an order is not certain.
  bool finish() {
    auto& parts = set.parts;
    for (size_t i = 1; i < parts.size(); ++i) {
      for (size_t j = i; j > 0; --j) {
        const auto order = compare(parts[j - 1].low, parts[j].low);
        if (!order) return false;
        if (*order < 0 || (*order == 0 && (parts[j - 1].low_closed || !parts[j].low_closed))) break;
        std::swap(parts[j - 1], parts[j]);
      }
    }
    std::vector<Interval> merged;
    for (Interval& part : parts) {
      if (merged.empty()) {
        merged.push_back(std::move(part));
        continue;
      }
      Interval& last = merged.back();
      const auto gap = compare(last.high, part.low);
      if (!gap) return false;
      if (*gap < 0 || (*gap == 0 && !last.high_closed && !part.low_closed)) {
        merged.push_back(std::move(part));
        continue;
      }
      const auto reach = compare(last.high, part.high);
      if (!reach) return false;
      if (*reach == 0) last.high_closed = last.high_closed || part.high_closed;
      if (*reach < 0) last.high = std::move(part.high), last.high_closed = part.high_closed;
    }
    parts = std::move(merged);
    return true;
  }

  RealSet set;

 private:
  bool add_all(const RealSet& other) {
    for (const Interval& part : other.parts) set.parts.push_back(part);
    set.variable = other.variable;
    return !other.parts.empty();
  }

  // The numbers that satisfy all conditions of a list. Nothing if they are no conditions or an order is not certain.
  std::optional<RealSet> intersection_of(const Node& list) {
    RealSet common;
    for (size_t i = 0; i < list.children.size(); ++i) {
      const Node& condition = list.children[i];
      if (condition.kind != Kind::relation && condition.kind != Kind::member) return {};
      Builder one(work_);
      one.set.variable = common.variable;
      if (!one.add(condition, true) || !one.finish()) return {};
      if (i == 0) {
        common = std::move(one.set);
        continue;
      }
      RealSet both;
      both.variable = one.set.variable;
      for (const Interval& a : common.parts) {
        for (const Interval& b : one.set.parts) {
          if (!add_common(a, b, both)) return {};
        }
      }
      common = std::move(both);
    }
    return common;
  }
  // Adds what two intervals share. False if an order is not certain.
  bool add_common(const Interval& a, const Interval& b, RealSet& both) {
    const auto lows = compare(a.low, b.low), highs = compare(a.high, b.high);
    if (!lows || !highs) return false;
    const Interval &below = *lows > 0 ? a : b, &above = *highs < 0 ? a : b;
    Interval part{below.low, above.high, below.low_closed, above.high_closed};
    if (*lows == 0) part.low_closed = a.low_closed && b.low_closed;
    if (*highs == 0) part.high_closed = a.high_closed && b.high_closed;
    const auto order = compare(part.low, part.high);
    if (!order) return false;
    if (*order < 0 || (*order == 0 && part.low_closed && part.high_closed)) both.parts.push_back(std::move(part));
    check(both.parts.size() < 100, "more than 100 intervals");
    return true;
  }

  // A set without the numbers of another.
  bool add_difference(const Node& node) {
    Builder left(work_), right(work_);
    if (!left.add(node.children[0], true) || !right.add(node.children[1], true) || !left.finish()) return false;
    for (const Interval& removed : right.set.parts) {
      RealSet rest;
      for (const Interval& part : left.set.parts) {
        if (!add_common(part, {infinity(-1), removed.low, false, !removed.low_closed}, rest) ||
            !add_common(part, {removed.high, infinity(1), !removed.high_closed, false}, rest)) {
          return false;
        }
      }
      left.set = std::move(rest);
    }
    for (Interval& part : left.set.parts) set.parts.push_back(std::move(part));
    return true;
  }

  // |x| < a and |x| > a.
  bool add_distance(const Node& distance, const Node& limit, bool inside, bool closed) {
    if (!named(distance.children[0])) return false;
    const Node lower = negated(limit);
    if (inside) return add(lower, limit, closed, closed);
    const auto order = compare(lower, limit);
    return order && *order <= 0 && add(infinity(-1), lower, false, closed) && add(limit, infinity(1), closed, false);
  }

  // -1, 0 or 1; nothing if it is not certain.
  std::optional<int> compare(const Node& a, const Node& b) {
    const int x = infinite(a), y = infinite(b);
    if (x != 0 || y != 0) return x < y ? -1 : x > y ? 1 : 0;
    if (a.kind == Kind::number && b.kind == Kind::number) return a.number < b.number ? -1 : a.number > b.number ? 1 : 0;
    try {
      const Ball left = evaluate(a, {}, budget_), right = evaluate(b, {}, budget_);
      const long double difference = left.value.real() - right.value.real();
      if (left.is_real() && right.is_real() && std::abs(difference) > 4 * (left.error + right.error)) {
        return difference < 0 ? -1 : 1;
      }
    } catch (const Error&) {
      return {};
    }
    if (same_value(a, b, work_).kind == Verdict::Kind::yes) return 0;
    return {};
  }

  bool add(const Node& low, const Node& high, bool low_closed, bool high_closed) {
    check(set.parts.size() < 100, "more than 100 intervals");
    const bool closed_infinity = (low_closed && infinite(low) != 0) || (high_closed && infinite(high) != 0);
    if (closed_infinity) return false;
    const auto order = compare(low, high);
    if (!order || *order > 0 || (*order == 0 && !(low_closed && high_closed))) return false;
    set.parts.push_back({low, high, low_closed, high_closed});
    return true;
  }

  bool named(const Node& node) {
    if (node.kind != Kind::variable || (!set.variable.empty() && set.variable != node.name)) return false;
    set.variable = node.name;
    return true;
  }

  // x < a, a < x, a < x <= b, x != a.
  bool add_relation(const Node& node) {
    if (node.relations[0] == "=" && node.children.size() == 2) {
      if (!named(node.children[0])) return false;
      return add(node.children[1], node.children[1], true, true);
    }
    if (node.relations[0] == "!=" && node.children.size() == 2) {
      return named(node.children[0]) && add(infinity(-1), node.children[1], false, false) &&
             add(node.children[1], infinity(1), false, false);
    }
    for (const std::string& sign : node.relations) {
      if ((sign[0] != '<' && sign[0] != '>') || sign[0] != node.relations[0][0]) return false;
    }
    std::vector<Node> sides = node.children;
    std::vector<std::string> signs = node.relations;
    if (signs[0][0] == '>') {
      std::reverse(sides.begin(), sides.end());
      std::reverse(signs.begin(), signs.end());
    }
    if (sides.size() == 3) {
      return named(sides[1]) && add(sides[0], sides[2], signs[0].size() == 2, signs[1].size() == 2);
    }
    if (sides.size() != 2) return false;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (sides[i].kind == Kind::absolute && sides[i].children[0].kind == Kind::variable) {
        return add_distance(sides[i], sides[1 - i], i == 0, signs[0].size() == 2);
      }
    }
    if (sides[0].kind == Kind::variable) {
      return named(sides[0]) && add(infinity(-1), sides[1], false, signs[0].size() == 2);
    }
    return named(sides[1]) && add(sides[0], infinity(1), signs[0].size() == 2, false);
  }

  Work& work_;
  Budget budget_;
};

}  // namespace

std::optional<RealSet> real_set(const Node& node, bool plain_groups, Work& work) {
  try {
    Builder builder(work);
    if (!builder.add(node, plain_groups) || !builder.finish()) return {};
    return std::move(builder.set);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace pg::grading

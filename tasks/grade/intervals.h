#pragma once
// Sets of real numbers: unions of intervals and points, from brackets, unions and inequalities of one variable.
#include <optional>
#include <string>
#include <vector>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

struct Interval {
  Node low, high;
  bool low_closed = false, high_closed = false;
};
struct RealSet {
  std::string variable;  // empty if the set has brackets only
  std::vector<Interval> parts;
};

// The set that a tree describes, its parts disjoint and ascending. Nothing for other trees and for ends whose order is
// not certain. A list of conditions is what satisfies them all; if nothing does, or if "or" is between them, what
// satisfies one. `plain_groups`: (a, b) is an interval and no pair, and {a} is a point.
std::optional<RealSet> real_set(const Node& node, bool plain_groups, Work& work);

}  // namespace pg::grading

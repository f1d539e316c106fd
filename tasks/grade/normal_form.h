#pragma once
// The normal form of an expression.
#include "tasks/grade/expression.h"
#include "tasks/grade/polynomial.h"

namespace pg::grading {

// Throws Error for a division by zero, for infinity, and when the budget is spent.
Quotient normal_form(const Node& node, Algebra& algebra, Budget& budget);

}  // namespace pg::grading

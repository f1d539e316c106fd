#pragma once
// The equality of two values: by their normal forms, or by evaluation.
#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// Whether two expressions have the same value. docs/GRADER.md says what is exact.
Verdict same_value(const Node& a, const Node& b, Work& work);

// Whether L1 = R1 and L2 = R2 are the same equation but for a rational factor: `a` and `b` are L - R. `positive`: the
// factor must be positive, as for inequalities.
Verdict proportional(const Node& a, const Node& b, bool positive, Work& work);

}  // namespace pg::grading

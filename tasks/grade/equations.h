#pragma once
// Equations that state a value: "m + n = 42", "(x, y) = (5, 3)", "25\pi \approx 78.5".
#include <optional>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// The verdict of a chain of = and \approx beside an expected answer that has no sign of relation: what stands on the
// right is the answer. It must not contradict the other sides, and beside \approx the exact value is the answer too.
// Nothing for other trees, for a name with its value (x = 5), which compare_answers() decides, and for an equation in
// one letter, which is one to solve (2x = 10). Throws nothing but std::bad_alloc.
std::optional<Verdict> compare_stated(const Node& given, const Node& gold, Work& work);

}  // namespace pg::grading

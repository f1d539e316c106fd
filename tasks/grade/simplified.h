#pragma once
// Whether an answer is in simplified form: what a problem such as "simplify" or "expand" asks for besides an equal
// value.
#include <string_view>

#include "tasks/grade/grade.h"

namespace pg {

// Whether `given` is in simplified form, of the kind that `gold` has; docs/GRADER.md has the rules. It does not compare
// values: grade_answer() does. The order of terms, factors and elements does not matter. If `gold` has none of the
// forms, only the same text is in it. False for what cannot be read within the limits.
bool is_simplified(std::string_view given, std::string_view gold, const GradeLimits& limits = {});

}  // namespace pg

#pragma once
// Verdicts as the usual grader of the MATH benchmark gives them, to compare results with published ones. That grader
// refuses equal answers in other forms; docs/GRADER.md has the rules and what differs.
#include <string_view>

#include "tasks/grade/grade.h"

namespace pg {

// `yes` if the texts are equal after the rules of MATH's normalization ("mathd"), or after those of the second one and
// a comparison of the values; otherwise `no`. Two answers that grade_answer() finds different are never equal. The
// order of the arguments matters.
Verdict grade_as_mathd(std::string_view given, std::string_view gold, const GradeLimits& limits = {});

}  // namespace pg

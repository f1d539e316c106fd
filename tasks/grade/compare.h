#pragma once
// Compares the trees of two answers by their structure; values.h compares their values.
#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// Throws nothing but std::bad_alloc.
Verdict compare_answers(const Node& a, const Node& b, Work& work);

}  // namespace pg::grading

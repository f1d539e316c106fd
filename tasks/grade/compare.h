#pragma once
// Compares the trees of two answers by their structure; values.h compares their values.
#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// The verdict is the same if a and b change places. Throws nothing but std::bad_alloc.
Verdict compare_answers(const Node& a, const Node& b, Work& work);

// A name that an equation may give a value: x, x_1, f(x), f(3), \text{Area}.
bool is_name(const Node& node);
// Whether a node of this kind is in the tree.
bool has_kind(const Node& node, Node::Kind kind);

}  // namespace pg::grading

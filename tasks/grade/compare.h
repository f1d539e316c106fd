#pragma once
// Compares the trees of two answers: their structure, their quantities, equations that state a value, and values.
#include <optional>
#include <string>
#include <utility>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// The verdict is the same if a and b change places. Throws nothing but std::bad_alloc.
Verdict compare_answers(const Node& a, const Node& b, Work& work);

// A name that an equation may give a value: x, x_1, f(x), f(3), \text{Area}.
bool is_name(const Node& node);
// Whether a node of this kind is in the tree.
bool has_kind(const Node& node, Node::Kind kind);

// Whether a kind is a structure of values instead of a value.
inline bool is_structure(Node::Kind kind) { return kind > Node::Kind::quantity; }

// Verdicts of the rule "structure".
inline Verdict yes(std::string reason) { return {Verdict::Kind::yes, std::move(reason), "structure"}; }
inline Verdict no(std::string reason) { return {Verdict::Kind::no, std::move(reason), "structure"}; }
inline Verdict unknown(std::string reason) { return {Verdict::Kind::unknown, std::move(reason), "structure"}; }

Verdict compare_quantities(const Node& a, const Node& b, Work& work);

// The verdict of a chain of = and \approx beside an expected answer that has no sign of relation: what stands on the
// right is the answer. It must not contradict the other sides, and beside \approx the exact value is the answer too.
// Nothing for other trees, for a name with its value (x = 5), which compare_answers() decides, and for an equation in
// one letter, which is one to solve (2x = 10). Throws nothing but std::bad_alloc.
std::optional<Verdict> compare_stated(const Node& given, const Node& gold, Work& work);

// Whether two expressions have the same value. docs/GRADER.md says what is exact.
Verdict same_value(const Node& a, const Node& b, Work& work);

// Whether L1 = R1 and L2 = R2 are the same equation but for a rational factor: `a` and `b` are L - R. `positive`: the
// factor must be positive, as for inequalities.
Verdict proportional(const Node& a, const Node& b, bool positive, Work& work);

}  // namespace pg::grading

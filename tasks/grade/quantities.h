#pragma once
// Compares two values with their units, percent signs, degrees and bases. What a unit may be left out for is decided
// here.
#include <string>
#include <utility>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// Whether a kind is a structure of values instead of a value.
inline bool is_structure(Node::Kind kind) { return kind > Node::Kind::quantity; }

// Verdicts of the rule "structure".
inline Verdict yes(std::string reason) { return {Verdict::Kind::yes, std::move(reason), "structure"}; }
inline Verdict no(std::string reason) { return {Verdict::Kind::no, std::move(reason), "structure"}; }
inline Verdict unknown(std::string reason) { return {Verdict::Kind::unknown, std::move(reason), "structure"}; }

Verdict compare_quantities(const Node& a, const Node& b, Work& work);

}  // namespace pg::grading

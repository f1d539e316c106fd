#pragma once
// Reads the text of an answer: a recursive descent over lexer.h's tokens. docs/GRADER.md has the grammar in words.
#include <string>
#include <string_view>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// Throws Error with the byte offset for a text that is not an answer in mathematics, or when a limit is reached.
Node parse_answer(std::string_view text, Work& work);

// Without what surrounds an answer: white space, $…$, \(…\), \[…\], \boxed{…}, \text{…} and a full stop.
std::string_view bare_answer(std::string_view text);

// The tree as a text: "(quotient 1 2)".
std::string to_text(const Node& node);

}  // namespace pg::grading

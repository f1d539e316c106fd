#pragma once
// Reads the text of an answer: a recursive descent over lexer.h's tokens. docs/GRADER.md has the grammar in words.
#include <string>
#include <string_view>

#include "tasks/grade/budget.h"
#include "tasks/grade/expression.h"

namespace pg::grading {

// Throws Error for a text that is not an answer in mathematics, or when a limit is reached. `text` is a part of
// `whole`, which the byte offsets in messages count from.
Node parse_answer(std::string_view text, std::string_view whole, Work& work);

// Without what surrounds an answer: white space, $…$, \(…\), \[…\], **…**, \boxed{…}, \text{…} and a full stop. A
// \text{…} of letters and spaces alone remains: it may be a text whose letters are no factors.
std::string_view bare_answer(std::string_view text);

// The tree as a text: "(quotient 1 2)".
std::string to_text(const Node& node);

}  // namespace pg::grading

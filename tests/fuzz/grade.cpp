// Fuzz target: two answers. The verdict is the same again; in the other direction too, unless one answer is an equation
// that states the other. A text equals itself.
// sources: tasks/grade/compare.cpp tasks/grade/equations.cpp tasks/grade/expression.cpp tasks/grade/extract.cpp
// sources: tasks/grade/grade.cpp tasks/grade/intervals.cpp tasks/grade/lexer.cpp tasks/grade/lexer_numbers.cpp
// sources: tasks/grade/normal_form.cpp tasks/grade/number_words.cpp tasks/grade/numeric.cpp tasks/grade/parser.cpp
// sources: tasks/grade/parser_commands.cpp tasks/grade/parser_numbers.cpp tasks/grade/parser_terms.cpp
// sources: tasks/grade/parser_units.cpp tasks/grade/parser_values.cpp tasks/grade/parser_words.cpp
// sources: tasks/grade/polynomial.cpp tasks/grade/quantities.cpp
// sources: tasks/grade/simplified.cpp tasks/grade/units.cpp tasks/grade/values.cpp tensor/base/text.cpp
// libraries: gmpxx gmp
// options: -max_len=120 -dict=tests/fuzz/grade.dict
// seed: \\frac12\n0.5
// seed: \\sqrt[3]{8}x^{-1}\n2/x
// seed: (-\\infty,1]\\cup[2,3)\nx\\le 1 or 2\\le x<3
// seed: \\begin{pmatrix}1&2\\\\\\\\3&4\\end{pmatrix}\n\\log_2 8
// seed: 5\\text{ km/h}\n$5, 42_7
// seed: \\text{cat}, 5 ft 6 in\ntwo hundred and five dozen
// seed: Answer: **m+n=42**\n25\\pi\\approx78.5
// seed: \\{x\\mid x>2\\}\n\\mathbb{R}\\setminus\\{0\\}
// seed: |x|!\\binom52\\sin^2 30^\\circ\n\\pm 3%%
#include "tasks/grade/grade.h"

#include <cstdint>

using namespace pg;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find('\n');
  const std::string_view given = text.substr(0, end), gold = end < size ? text.substr(end + 1) : given;
  const GradeLimits limits{.bytes = 2000, .steps = 20000};
  const Verdict verdict = grade_answer(given, gold, limits);
  const bool equation = text.find('=') != std::string_view::npos || text.find("\\approx") != std::string_view::npos ||
                        text.find("\\simeq") != std::string_view::npos ||
                        text.find("doteq") != std::string_view::npos ||
                        text.find("\xe2\x89\x88") != std::string_view::npos;
  if (!equation && grade_answer(gold, given, limits).kind != verdict.kind) __builtin_trap();
  if (grade_answer(given, gold, limits).reason != verdict.reason) __builtin_trap();
  // An answer is not different from itself, and it has its own form.
  if (grade_answer(given, given, limits).kind == Verdict::Kind::no) __builtin_trap();
  if (!is_simplified(given, given, limits)) __builtin_trap();
  is_simplified(given, gold, limits);
  describe_answer(given, limits);
  return 0;
}

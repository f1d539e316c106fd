#pragma once
// Problems in words: a generator, a reader of GSM8K's files, and the reading of answers.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/puzzles/problem_file.h"
#include "tensor/base/random.h"

namespace pg {

struct WordProblem {
  std::string text;    // asks for a number
  std::string number;  // the answer, as plain_number() writes it
  std::string kind;    // of story
  std::string key;     // the same for a problem that has other names and things
  int steps = 0;       // operations on two numbers that lead to the answer; 0: unknown
};

// A problem of two to four steps.
WordProblem make_word_problem(Generator& generator, int steps);

// The problems of a JSONL file like GSM8K's: {"question": "…", "answer": "… #### 42"}, as problem_text() reads them.
// The steps are the calculations in << >>. Error with the file and the line for anything else.
std::vector<WordProblem> read_gsm8k(const std::string& path, const ProblemColumns& columns = {});

// A number with digits, an optional sign, correct commas between thousands and a decimal part, without its commas and
// needless zeros: "-1,234.50" is "-1234.5". Nothing for any other text.
std::optional<std::string> plain_number(std::string_view text);

// The number that an answer is, as plain_number() writes it; nothing for any other text. It may end with a period. "$"
// may precede the number if the problem is about dollars. Words may follow it that stand after "how many" in the
// problem, such as "more apples", but none that would change the number, such as "dozen".
std::optional<std::string> answer_number(const WordProblem& problem, std::string_view answer);
// Whether it is the problem's number.
bool is_answer(const WordProblem& problem, std::string_view answer);

}  // namespace pg

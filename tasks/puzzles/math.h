#pragma once
// Problems of mathematics with exact answers in LaTeX: a generator, and a reader of files like MATH's.
#include <string>
#include <string_view>
#include <vector>

#include "tasks/puzzles/problem_file.h"
#include "tensor/base/random.h"

namespace pg {

struct MathProblem {
  std::string text;        // in English, with LaTeX between dollar signs
  std::string brief;       // the same in a few ASCII characters, without '='
  std::string answer;      // in LaTeX
  std::string subject;     // "Algebra", as MATH names it
  int level = 0;           // 1 to 5; 0: unknown
  std::string where = {};  // "FILE:LINE"; empty: generated
};

// A kind of problem that is generated.
struct MathKind {
  const char* subject;
  int level;
  MathProblem (*make)(Generator& generator);  // without subject and level
};
const std::vector<MathKind>& math_kinds();

// The problems of a JSONL file like MATH's (Hendrycks et al. 2021, arXiv:2103.03874), question and answer as
// problem_text() reads them: {"problem", "answer"} and, if there, "subject" and "level", a number or "Level 3". Error
// with the file and the line for anything else. `brief` is the problem in ASCII.
std::vector<MathProblem> read_math(const std::string& path, const ProblemColumns& columns = {});

// Whether an answer is equal to the expected one by grade_answer() (tasks/grade/grade.h). The whole text is the answer:
// what stands around it is for the format of the response, so a text that states an answer ("the answer is 5",
// \boxed{5}) is none.
bool is_equal_answer(std::string_view answer, std::string_view gold);

}  // namespace pg

// Fuzz target: a JSONL file, or a JSON array, of problems with their answers, as each reader of them takes it.
// sources: tasks/puzzles/problem_file.cpp tasks/puzzles/math.cpp tasks/puzzles/word_problems.cpp
// sources: tasks/data/text_data.cpp tensor/base/json.cpp tensor/base/json_text.cpp tensor/base/text.cpp
// archives: pg_tasks pg_bpe pg_text_tasks pg_text pg_base
// libraries: pcre2-8 utf8proc gmpxx gmp
// options: -max_len=2000 -dict=tests/fuzz/problem_file.dict
// seed: {"problem":"1+1","answer":"2","subject":"Algebra","level":"Level 3"}\n{"problem":"x","answer":3,"level":1}\n
// seed: [{"question":"How many?","answer":"1+1=<<1+1=2>>2\\n#### 2"},{"question":"b","answer":"#### 1,234.50"}]
// seed: {"prompt":[{"role":"user","content":"q"}],"solution":"so \\\\boxed{\\\\frac{1}{2}}"}
// seed: {"a":{"b":"q"},"ground_truth":[true]}
#include "tasks/puzzles/problem_file.h"

#include "tasks/puzzles/math.h"
#include "tasks/puzzles/word_problems.h"
#include "tests/fuzz/driver/files.h"

using namespace pg;

namespace {

bool is_trimmed(const std::string& text) {
  constexpr std::string_view space = " \t\r\n";
  return !text.empty() && space.find(text.front()) == std::string_view::npos &&
         space.find(text.back()) == std::string_view::npos;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string path = fuzz::file("x.jsonl", fuzz::text_of(data, size));
  for (const ProblemColumns& columns : {ProblemColumns{}, ProblemColumns{.question = "a.b", .answer = "c"}}) {
    fuzz::no_worse_than_error([&] {
      each_problem(path, [&](const Json& object, const std::string& where) {
        const ProblemText text = problem_text(object, columns, where);
        fuzz::expect(is_trimmed(text.question) && is_trimmed(text.answer));
        for (const char c : ascii_of(text.question)) fuzz::expect(static_cast<unsigned char>(c) < 0x80 && c != '=');
      });
    });
    fuzz::no_worse_than_error([&] {
      for (const MathProblem& p : read_math(path, columns)) fuzz::expect(p.level >= 0 && !p.answer.empty());
    });
    fuzz::no_worse_than_error([&] {
      for (const WordProblem& p : read_gsm8k(path, columns)) fuzz::expect(p.steps >= 0 && plain_number(p.number));
    });
  }
  return 0;
}

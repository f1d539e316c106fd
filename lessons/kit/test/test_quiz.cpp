// Tests of the format of a lesson's questions, and of what lint demands of them.
#include "lessons/kit/quiz.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;

namespace {

const std::string kOne =
    "# a comment\n"
    "? One and\n"
    "  one?\n"
    "- 1\n"
    ": one is missing\n"
    "+ 2\n"
    ": they are\n"
    "  added\n"
    "- 3\n"
    ": one too many\n\n";

std::string error_in(const std::string& text) {
  return testing::error_of([&] { parse_quiz(text, "quiz.txt"); });
}

}  // namespace

TEST_CASE("questions are read with their choices and reasons", "[kit]") {
  const std::vector<Question> questions = parse_quiz(kOne, "quiz.txt");
  REQUIRE(questions.size() == 1);
  CHECK(questions[0].text == "One and one?");
  REQUIRE(questions[0].choices.size() == 3);
  CHECK(questions[0].choices[1].text == "2");
  CHECK(questions[0].choices[1].reason == "they are added");
  CHECK(questions[0].choices[1].right);
  CHECK(!questions[0].choices[2].right);
}

TEST_CASE("a broken line of a quiz is named", "[kit]") {
  CHECK(error_in(kOne + "* 4\n").find("quiz.txt:12: expected \"? question\"") == 0);
  CHECK(error_in("+ 2\n") == "quiz.txt:1: expected a question before its choices, got \"+ 2\"");
  CHECK(error_in("? a\n: b\n") == "quiz.txt:2: expected a choice before its one reason, got \": b\"");
  CHECK(error_in("  a\n") == "quiz.txt:1: expected a question before the line that continues one, got \"  a\"");
}

TEST_CASE("lint tells what a quiz lacks", "[kit]") {
  const auto problems = [](const std::string& text) { return quiz_problems(parse_quiz(text, "quiz.txt")); };
  const std::string first = "? q\n+ 1\n: y\n- 2\n: n\n- 3\n: n\n", third = "? q\n- 1\n: n\n- 2\n: n\n+ 3\n: y\n";
  CHECK(problems(kOne + first + third).empty());
  CHECK(problems(kOne + first) == std::vector<std::string>{"expected 3 questions, got 2"});
  CHECK(problems(kOne + first + first) ==
        std::vector<std::string>{"expected another right letter in each question, so that no letter is a good guess"});
  CHECK(problems(kOne + first + "? q\n- 1\n- 2\n: n\n+ 3\n: y\n") ==
        std::vector<std::string>{"question 3: choice a has no reason"});
  CHECK(problems(kOne + first + "? q\n- 1\n: n\n+ 3\n: y\n").front() == "question 3: expected 3 or 4 choices, got 2");
}

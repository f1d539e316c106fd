// The answer that a response votes with: of tasks for characters and of chat tasks in each form of an answer.
#include "tasks/puzzles/chat_task.h"
#include "tests/catch.h"
#include "tests/tasks/byte_tokenizer.h"

using namespace pg;

namespace {

std::optional<std::string> answer_of(const TextTask& task, const std::string& text, bool ends = true) {
  std::vector<int32_t> ids = task.tokenizer().encode(text);
  if (ends) ids.push_back(task.end_id());
  return task.answer_of(ids);
}

}  // namespace

TEST_CASE("answers of the same value vote together", "[tasks]") {
  const auto same = [](const PuzzleTask& task, const Puzzle& puzzle, const char* a, const char* b) {
    INFO(a << " and " << b);
    CHECK(task.same_answer(puzzle, a, b) == task.same_answer(puzzle, b, a));
    return task.same_answer(puzzle, a, b);
  };
  Puzzle p;
  p.gold = "\\frac{1}{2}";
  const auto math = math_puzzles();
  CHECK(same(*math, p, "1/2", "0.5"));
  CHECK(same(*math, p, "\\frac12", " .5"));
  CHECK(same(*math, p, "2x+1", "1+2x"));  // wrong answers too
  CHECK_FALSE(same(*math, p, "1/2", "1/3"));
  CHECK_FALSE(same(*math, p, "1/2", "1/4+1/4"));  // refused for its form
  CHECK(same(*math, p, "(", "("));
  CHECK_FALSE(same(*math, p, "(", "[["));
  const auto sums = arithmetic_puzzles();
  CHECK(same(*sums, p, "075", "75.0"));
  CHECK_FALSE(same(*sums, p, "75", "57"));
  CHECK_FALSE(same(*sums, p, "x", "y"));  // no numbers
  p.request = "Anna has 12 apples and eats 2. How many apples does Anna have now?";
  const auto words = word_problems();
  CHECK(same(*words, p, "10 apples", "10."));
  CHECK_FALSE(same(*words, p, "10 apples", "12 apples"));
  CHECK_FALSE(same(*words, p, "10 pears", "10"));
  const auto moves = hanoi_puzzles();
  CHECK_FALSE(same(*moves, p, "12 13", "12,13"));  // the text, unless a task says more
}

TEST_CASE("a response of characters is its answer if it has ended", "[tasks][puzzles]") {
  const auto task = make_text_task("arithmetic");
  CHECK(answer_of(*task, "75") == "75");
  CHECK(answer_of(*task, "") == "");
  CHECK(answer_of(*task, "75", /*ends=*/false) == std::nullopt);
  CHECK(task->answer_of({}) == std::nullopt);
  // The task imitate has no end.
  const auto endless = make_text_task("imitate", {{"corpus", "stories"}});
  REQUIRE(endless->end_id() == -1);
  CHECK(answer_of(*endless, "the cat", /*ends=*/false) == "the cat");
}

TEST_CASE("a chat response votes with the answer in its form", "[tasks][puzzles]") {
  const ChatTemplate format("smollm2");
  const auto task = [&](const std::string& form) {
    ChatTaskOptions options;
    options.prompt.answer_format = form;
    return chat_task(arithmetic_puzzles(), testing::shared_byte_tokenizer(), format, options);
  };
  CHECK(answer_of(*task("bare"), " 75 ") == "75");
  const auto tags = task("tags"), boxed = task("boxed");
  CHECK(answer_of(*tags, "27 and 48 are <answer> 75</answer>") == "75");
  CHECK(answer_of(*tags, "another way to <answer>75</answer>") == answer_of(*tags, "<answer>75</answer>"));
  CHECK(answer_of(*tags, "75") == std::nullopt);
  CHECK(answer_of(*tags, "<answer>75</answer>", /*ends=*/false) == std::nullopt);
  CHECK(answer_of(*boxed, "so \\boxed{75}") == "75");
  // A response whose answer is right is solved, and one without an answer has no score.
  const Problem problem = tags->held_out(1)[0];
  REQUIRE(tags->answer_of(problem.answer) == problem.puzzle->answer);
  CHECK(tags->score(problem, problem.answer).solved);
  CHECK(tags->score(problem, tags->tokenizer().encode(problem.puzzle->answer)).reward == 0);
}

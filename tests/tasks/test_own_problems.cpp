// Files of problems as users have them: names of keys, forms of answers, small files, answers that cannot be read.
#include <fstream>
#include <map>
#include <set>

#include "tasks/puzzles/chat_task.h"
#include "tasks/puzzles/math.h"
#include "tasks/puzzles/puzzle.h"
#include "tests/catch.h"
#include "tests/tasks/byte_tokenizer.h"

using namespace pg;
using testing::contains;
using testing::error_of;

namespace {

class OwnFile {
 public:
  explicit OwnFile(const std::string& text) { std::ofstream(path) << text; }
  const testing::TempDir dir;
  const std::string path = dir.file("own.jsonl");
};

MathProblem only(const std::string& line, const ProblemColumns& columns = {}) {
  const OwnFile file(line);
  const std::vector<MathProblem> read = read_math(file.path, columns);
  REQUIRE(read.size() == 1);
  return read[0];
}
std::string refusal(const std::string& line, const ProblemColumns& columns = {}) {
  const OwnFile file(line);
  return error_of([&] { read_math(file.path, columns); });
}

std::string line(int i) { return fmt::format("{{\"problem\": \"What is {0} plus 1?\", \"answer\": {1}}}\n", i, i + 1); }

// The texts of puzzles to train on and of those held out.
std::pair<std::set<std::string>, std::set<std::string>> parts_of(const PuzzleTask& task) {
  std::pair<std::set<std::string>, std::set<std::string>> parts;
  Generator generator(1);
  for (int i = 0; i < 300; ++i) parts.first.insert(draw_puzzle(task, generator, /*held_out=*/false).request);
  for (const Puzzle& p : held_out_puzzles(task, 1000)) parts.second.insert(p.request);
  return parts;
}

}  // namespace

TEST_CASE("own problems: the usual names of keys are found", "[tasks][puzzles]") {
  for (const std::string question : {"problem", "question", "prompt", "instruction", "query", "input"}) {
    for (const std::string answer : {"answer", "ground_truth", "final_answer", "gold", "target", "label"}) {
      const MathProblem p = only(fmt::format(R"({{"id": 7, "{}": " 6 times 7? ", "{}": " 42 "}})", question, answer));
      CHECK(p.text == "6 times 7?");
      CHECK(p.answer == "42");
    }
  }
  CHECK(
      contains(refusal(R"({"q": "6 times 7?", "a": "42"})"), "or --question-column KEY; the line has the keys: q, a"));
  CHECK(contains(refusal(R"({"problem": "6 times 7?"})"), "or --answer-column KEY; the line has the keys: problem"));
}

TEST_CASE("own problems: any key can be named, also inside an object", "[tasks][puzzles]") {
  const std::string verl = R"({"data_source": "x", "ask": "6 times 7?", "reward_model": {"ground_truth": "42"}})";
  const MathProblem p = only(verl, {.question = "ask", .answer = "reward_model.ground_truth"});
  CHECK(p.text == "6 times 7?");
  CHECK(p.answer == "42");
  CHECK(only(R"({"problem": "p", "a.b": 3})", {.answer = "a.b"}).answer == "3");
  CHECK(contains(refusal(verl, {.question = "ask", .answer = "reward_model.gold"}),
                 "expected the answer at the key \"reward_model.gold\"; the line has the keys: data_source, ask, "));
}

TEST_CASE("own problems: an answer may be a number, and a prompt a chat", "[tasks][puzzles]") {
  const auto answer = [](const std::string& value) {
    return only(R"({"problem": "p", "answer": )" + value + "}").answer;
  };
  CHECK(answer("64") == "64");
  CHECK(answer("-0.5") == "-0.5");
  CHECK(answer("true") == "true");
  CHECK(answer(R"(["64"])") == "64");
  CHECK(answer("[64]") == "64");
  CHECK(answer(R"("6 * 7 = 42\n#### 42")") == "42");
  CHECK(answer(R"("It is \\boxed{42}.")") == "42");
  CHECK(only(R"({"problem": "p", "answer": null, "solution": "\\boxed{7}"})").answer == "7");
  for (const char* value : {"[null]", "[1, 2]", "{}", "[]", "[[1]]"}) {
    CHECK(contains(refusal(fmt::format(R"({{"problem": "p", "answer": {}}})", value)), "\"answer\" must be a text or"));
  }
  CHECK(only(R"({"prompt": [{"role": "user", "content": "6 times 7?"}], "solution": "\\boxed{42}"})").text ==
        "6 times 7?");
  for (const char* chat : {"[]", R"([{"role": "system", "content": "s"}, {"role": "user", "content": "p"}])",
                           R"([{"role": "assistant", "content": "p"}])", R"([{"role": "user"}])", "[7]"}) {
    CHECK(
        contains(refusal(fmt::format(R"({{"prompt": {}, "answer": "1"}})", chat)), "--system gives a system message"));
  }
}

TEST_CASE("own problems: a file may be one JSON array, and Parquet is named", "[tasks][puzzles]") {
  const OwnFile array("\n[" + line(1) + "," + line(2) + "]\n");
  const auto read = read_math(array.path);
  REQUIRE(read.size() == 2);
  CHECK(read[1].answer == "3");
  CHECK(read[1].where == array.path + "[1]");
  CHECK(contains(refusal("[{\"problem\": \"p\", \"answer\": 1}, 7]"), "own.jsonl[1]: expected a JSON object, got '7'"));
  CHECK(contains(refusal(std::string("PAR1\x15\x04", 6)), "this is a Parquet file"));
}

TEST_CASE("own problems: a file of any size has a problem that is held out", "[tasks][puzzles]") {
  for (int count = 2; count <= 40; ++count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += line(i);
    const OwnFile file(text);
    for (const auto& task : {math_puzzles({.file = file.path}), word_problems({.file = file.path})}) {
      const auto [train, held_out] = parts_of(*task);
      INFO(count);
      CHECK_FALSE(train.empty());
      CHECK_FALSE(held_out.empty());
      CHECK(static_cast<int>(train.size() + held_out.size()) == count);
      for (const std::string& p : held_out) CHECK_FALSE(train.contains(p));
      CHECK(task->note().empty());
    }
  }
}

TEST_CASE("own problems: fifty equal problems are learned and evaluated, which is said", "[tasks][puzzles]") {
  std::string text;
  for (int i = 0; i < 50; ++i) text += line(3);
  for (const std::string& t : {text, line(3)}) {
    const OwnFile file(t);
    const auto task = math_puzzles({.file = file.path});
    const auto [train, held_out] = parts_of(*task);
    CHECK(train == std::set<std::string>{"What is 3 plus 1?"});
    CHECK(held_out == train);
    CHECK(contains(task->note(), "all problems have the same text"));
  }
}

TEST_CASE("own problems: answers that the grader cannot read are counted or left out", "[tasks][puzzles]") {
  const std::string unreadable = R"({"problem": "bad", "answer": "\\weird{64"})";
  const OwnFile some(line(1) + unreadable + "\n" + line(2) + unreadable + "\n" + line(5));
  const auto task = math_puzzles({.file = some.path});
  INFO(task->note());
  CHECK(contains(task->note(), "2 of 5 answers cannot be read"));
  CHECK(contains(task->note(), "--skip-unreadable true leaves them out"));
  CHECK(contains(task->note(), some.path + ":2: '\\weird{64' ("));
  CHECK(task->requests().size() == 5);
  const auto shorter = math_puzzles({.file = some.path, .skip_unreadable = true});
  CHECK(shorter->requests() == std::vector<std::string>{"What is 1 plus 1?", "What is 2 plus 1?", "What is 5 plus 1?"});
  CHECK(contains(shorter->note(), "2 of 5 answers cannot be read, so that only the same text is right, and are left"));
  const OwnFile all(unreadable);
  CHECK(contains(error_of([&] { math_puzzles({.file = all.path}); }), "none of the 1 answers can be read"));
}

TEST_CASE("own problems: one long prompt is left out and counted", "[tasks][puzzles]") {
  const std::string words(5000, 'x');
  const OwnFile file(line(1) + line(2) + line(3) + "{\"problem\": \"" + words + "\", \"answer\": 1}\n");
  const auto tokenizer = testing::shared_byte_tokenizer();
  const auto make = [&](int64_t max_prompt) {
    ChatTaskOptions options;
    options.prompt.style = "question";
    options.max_prompt = max_prompt;
    return chat_task(math_puzzles({.file = file.path}), tokenizer, {}, options);
  };
  CHECK(make(0)->max_prompt() >= 5000);
  const auto task = make(100);
  CHECK(task->max_prompt() <= 100);
  CHECK(contains(task->note(), "more than 100 tokens (--max-prompt): 1."));
  CHECK(make(10000)->note().empty());
  CHECK(contains(error_of([&] { make(3); }), "every prompt is too long"));
}

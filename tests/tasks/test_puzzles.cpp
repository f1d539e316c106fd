// What holds for every task whose answers are verified, and attacks on its score.
#include <set>

#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"
#include "tests/catch.h"

using namespace pg;

namespace {

// Texts that answer no puzzle.
const std::vector<std::string>& nonsense() {
  static const std::vector<std::string> all = {"",
                                               " ",
                                               "\n",
                                               "?",
                                               "answer",
                                               "-",
                                               "+",
                                               ".",
                                               "()",
                                               "[]",
                                               "[[]]",
                                               ",",
                                               ";",
                                               "NaN",
                                               "inf",
                                               "-inf",
                                               "1e999",
                                               "0x10",
                                               "--1",
                                               "1/0",
                                               "<answer></answer>",
                                               "\\boxed{}",
                                               std::string(1, '\0'),
                                               "\xff\xfe",
                                               "½",
                                               "١٢",
                                               std::string(100000, '('),
                                               std::string(100000, '9'),
                                               std::string(10'000'000, 'a')};
  return all;
}

const std::string& key_of(const Puzzle& p) { return p.key.empty() ? p.question : p.key; }

std::vector<std::string> names_of(const Score& score) {
  std::vector<std::string> names;
  for (const auto& [name, value] : score.parts) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("puzzles: every row keeps its promises", "[tasks][puzzles]") {
  for (const PuzzleRow& row : puzzle_tasks()) {
    INFO(row.name);
    const auto task = row.setup().make();
    CHECK(task->name() == row.name);
    CHECK_FALSE(task->answer_form().empty());
    const std::string alphabet = task->alphabet();
    CHECK(std::set<char>(alphabet.begin(), alphabet.end()).size() == alphabet.size());
    Generator generator(3), same(3);
    std::set<std::string> held_out, trained;
    for (int i = 0; i < 3000; ++i) {
      const Puzzle p = task->draw(generator);
      INFO(p.question << " -> " << p.answer);
      REQUIRE(task->draw(same).question == p.question);
      REQUIRE(std::ssize(p.question) <= task->max_question());
      REQUIRE(std::ssize(p.answer) <= task->max_answer());
      REQUIRE(std::ssize(p.request) <= task->max_request());
      REQUIRE(p.question.find_first_not_of(alphabet) == std::string::npos);
      REQUIRE(p.answer.find_first_not_of(alphabet) == std::string::npos);
      REQUIRE_FALSE(p.request.empty());
      const Score score = task->grade(p, p.answer);
      REQUIRE(score.solved);
      REQUIRE(score.reward == 1);
      (is_held_out(p) ? held_out : trained).insert(key_of(p));
    }
    for (const std::string& key : held_out) REQUIRE(trained.count(key) == 0);
    const double share = static_cast<double>(held_out.size()) / static_cast<double>(held_out.size() + trained.size());
    // Binomial: four standard deviations around a tenth.
    const double spread = 4 * std::sqrt(0.09 / static_cast<double>(held_out.size() + trained.size()));
    CHECK(std::abs(share - 0.1) < spread);
  }
}

TEST_CASE("puzzles: nonsense earns nothing and no answer earns more than a right one", "[tasks][puzzles]") {
  for (const PuzzleRow& row : puzzle_tasks()) {
    const auto task = row.setup().make();
    Generator generator(5);
    std::vector<Puzzle> puzzles;
    for (int i = 0; i < 60; ++i) puzzles.push_back(task->draw(generator));
    for (const std::string& text : nonsense()) {
      const Score score = task->grade(puzzles[0], text);
      INFO(row.name << ": " << text.substr(0, 40));
      CHECK(score.reward == 0);
      CHECK_FALSE(score.solved);
      CHECK(names_of(score) == names_of(task->grade(puzzles[0], puzzles[0].answer)));
    }
    for (const Puzzle& p : puzzles) {
      std::vector<std::string> attacks = {p.question,          p.question + "=" + p.answer,
                                          p.answer + p.answer, p.answer + " or 0",
                                          p.request,           p.answer + "\n" + p.answer};
      for (const Puzzle& other : puzzles) attacks.push_back(other.answer);
      // Every answer with one character left out, doubled, or replaced.
      for (size_t i = 0; i < p.answer.size(); ++i) {
        std::string text = p.answer;
        attacks.push_back(text.erase(i, 1));
        attacks.push_back(p.answer.substr(0, i) + p.answer[i] + p.answer.substr(i));
        for (const char c : task->alphabet()) (attacks.emplace_back(p.answer))[i] = c;
      }
      for (const std::string& text : attacks) {
        const Score score = task->grade(p, text);
        INFO(row.name << ": " << p.question << " -> " << text);
        REQUIRE(score.reward >= 0);
        REQUIRE(score.solved == (score.reward == 1));
        REQUIRE(score.reward <= 1);
        REQUIRE(names_of(score) == names_of(task->grade(p, p.answer)));
        double sum = 0;
        for (const auto& [name, value] : score.parts) sum += value;
        REQUIRE(sum == Approx(score.reward));
      }
    }
  }
}

TEST_CASE("puzzles: a model of characters gets a score for a response that ends", "[tasks][puzzles]") {
  for (const PuzzleRow& row : puzzle_tasks()) {
    INFO(row.name);
    const auto task = character_task(row.setup().make());
    Generator generator(9);
    for (int i = 0; i < 200; ++i) {
      const Problem p = task->sample(generator);
      REQUIRE(std::ssize(p.prompt) <= task->max_prompt());
      REQUIRE(std::ssize(p.answer) <= task->max_response());
      REQUIRE(task->score(p, p.answer).solved);
      REQUIRE(task->score(p, std::span(p.answer).first(p.answer.size() - 1)).reward == 0);
      REQUIRE(task->score(p, {}).reward == 0);
    }
    const std::vector<Problem> held_out = task->held_out(50);
    REQUIRE_FALSE(held_out.empty());
    std::set<std::vector<int32_t>> prompts;
    for (const Problem& p : held_out) {
      REQUIRE(is_held_out(*p.puzzle));
      prompts.insert(p.prompt);
    }
    CHECK(prompts.size() == held_out.size());
    CHECK(task->held_out(50)[0].prompt == held_out[0].prompt);
  }
}

TEST_CASE("puzzles: arithmetic reads numbers as they are usually written and nothing else", "[tasks][puzzles]") {
  const auto task = arithmetic_puzzles({.operations = "-", .digits = 3});
  Generator generator(1);
  Puzzle p = task->draw(generator);
  p.gold = "-120";
  for (const char* right : {"-120", "-0120", "-120.0", "-120.", "-240/2", "-120.000000000000000000000000"}) {
    INFO(right);
    CHECK(task->grade(p, right).solved);
  }
  for (const char* wrong : {"120", "-12", "-1200", "-120 ", " -120", "-120.5", "- 120", "-.120", "--120", "-120-",
                            "-120,0", "-1.2e2", "-120\n", "-99999999999999999999999"}) {
    INFO(wrong);
    CHECK(task->grade(p, wrong).reward == 0);
  }
  const auto loose = arithmetic_puzzles({.operations = "-", .in_words = 0.25});
  for (const char* text : {"The answer is -120.", "20 - 140 = -120", "= -120", "-120 ", "-120, I think"}) {
    INFO(text);
    CHECK(loose->grade(p, text).reward == 0.25 * 4 / static_cast<double>(std::string_view(text).size()));
    CHECK_FALSE(loose->grade(p, text).solved);
  }
  CHECK(loose->grade(p, "-120").reward == 1);
  for (const char* text : {"The answer is 120.", "-120 or 5", "20-120", "-1201", "minus 120", "- 120"}) {
    INFO(text);
    CHECK(loose->grade(p, text).reward == 0);
  }
  for (const char* operations : {"", "/", "+x"}) {
    CHECK(testing::contains(testing::error_of([&] { arithmetic_puzzles({.operations = operations}); }), "some of"));
  }
  // All results of up to two digits, by enumeration.
  const auto both = arithmetic_puzzles({.operations = "+*", .digits = 1});
  std::set<std::string> seen;
  for (int i = 0; i < 20000; ++i) {
    const Puzzle q = both->draw(generator);
    const int a = q.question[0] - '0', b = q.question[2] - '0';
    REQUIRE(q.answer == std::to_string(q.question[1] == '+' ? a + b : a * b));
    seen.insert(q.question);
  }
  CHECK(seen.size() == 200);
}

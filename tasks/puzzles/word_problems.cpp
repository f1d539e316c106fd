// Problems in words whose answer is a number: of a generator, or of a file like GSM8K's.
#include "tasks/puzzles/word_problems.h"

#include <algorithm>
#include <tuple>

#include "tasks/puzzles/problem_file.h"
#include "tasks/puzzles/problem_pool.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::string_view kSigns = " .,?'$-";                          // of generated problems
constexpr std::string_view kMoreSigns = "!\"#%&()*+/:;<>@[\\]^_`{|}~";  // and of files: all of ASCII but '='
constexpr int64_t kLongestStory = 360;

WordProblem problem_of(const Json& json, const ProblemColumns& columns, const std::string& where) {
  ProblemText text = problem_text(json, columns, where);
  WordProblem problem;
  problem.text = problem.key = std::move(text.question);
  const auto number = plain_number(text.answer);
  check(number.has_value(), "{}: the answer must be a number, or end with #### and a number, got '{}'", where,
        excerpt(text.answer));
  problem.number = *number;
  const size_t mark = text.working.rfind("####");
  for (size_t at = text.working.find("<<"); at < mark; at = text.working.find("<<", at + 2)) ++problem.steps;
  return problem;
}

class WordProblems : public PuzzleTask {
 public:
  explicit WordProblems(const WordProblemOptions& options) : options_(options) {
    check_fields("word-problems", fields(options_));
    if (options_.file.empty()) return;
    pool_ = {options_.file, read_gsm8k(options_.file, options_.columns)};
    measure();
  }
  std::string name() const override { return "word-problems"; }
  std::string about() const override {
    return options_.file.empty() ? fmt::format("problems in words of 2 to {} steps; reward: 1 for the right number",
                                               options_.problem_steps)
                                 : "problems in words; reward: 1 for the right number";
  }
  std::string alphabet() const override {
    std::string all(kLetters);
    all += kSigns;
    return options_.file.empty() ? all : all.append(kMoreSigns);
  }
  std::string answer_form() const override { return "the number"; }
  int64_t max_question() const override { return question_; }
  int64_t max_answer() const override { return answer_; }
  int64_t max_request() const override { return question_; }
  std::vector<std::string> requests() const override { return pool_.texts(); }
  int64_t keep(const std::function<bool(const std::string&)>& fits) override {
    const int64_t left_out = pool_.keep(fits);
    if (left_out > 0) measure();
    return left_out;
  }
  std::string note() const override { return pool_.note(); }
  Puzzle draw(Generator& generator) const override {
    WordProblem problem;
    Split split = Split::by_key;
    if (pool_.empty()) {
      problem = make_word_problem(generator, 2 + static_cast<int>(generator.integer(options_.problem_steps - 1)));
    } else {
      std::tie(problem, split) = pool_.draw(generator);
    }
    return {.question = ascii_of(problem.text),
            .request = problem.text,
            .answer = problem.number,
            .key = problem.key,
            .gold = problem.number,
            .subject = problem.kind,
            .level = pool_.empty() ? problem.steps - 1 : problem.steps,
            .split = split};
  }
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    WordProblem problem;
    problem.text = puzzle.request;
    problem.number = puzzle.gold;
    Score score;
    score.solved = is_answer(problem, answer);
    score.reward = score.solved ? 1 : 0;
    score.parts = {{"right", score.reward}};
    return score;
  }
  bool same_answer(const Puzzle& puzzle, std::string_view a, std::string_view b) const override {
    WordProblem problem;
    problem.text = puzzle.request;
    const auto x = answer_number(problem, a), y = answer_number(problem, b);
    return x && y ? *x == *y : a == b;
  }

 private:
  void measure() {
    question_ = answer_ = 1;
    pool_.each([&](const WordProblem& p) {
      question_ = std::max<int64_t>(question_, std::ssize(p.text));
      answer_ = std::max<int64_t>(answer_, std::ssize(p.number));
    });
  }

  WordProblemOptions options_;
  ProblemPool<WordProblem> pool_;                  // of a file
  int64_t question_ = kLongestStory, answer_ = 5;  // characters
};

}  // namespace

std::vector<WordProblem> read_gsm8k(const std::string& path, const ProblemColumns& columns) {
  std::vector<WordProblem> problems;
  each_problem(
      path, [&](const Json& json, const std::string& where) { problems.push_back(problem_of(json, columns, where)); });
  return problems;
}

std::vector<Field> fields(WordProblemOptions& o) {
  return joined(
      {{{"problem-steps", &o.problem_steps, "operations that lead to the answer, at most", whole_from(2, 4)},
        {"file", &o.file, "JSONL like GSM8K's, {\"question\": \"…\", \"answer\": \"… #### 42\"}; empty: generated"}},
       fields(o.columns)});
}

std::unique_ptr<PuzzleTask> word_problems(const WordProblemOptions& options) {
  return std::make_unique<WordProblems>(options);
}

}  // namespace pg

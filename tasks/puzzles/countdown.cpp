// Reach a target with given numbers and + - * /.
#include "tasks/puzzles/countdown.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

constexpr int64_t kMostTries = 100000;

struct Given {
  std::vector<int64_t> numbers;
  int64_t target = 0;
};

std::string short_form(const Given& given) { return fmt::format("{}:{}", fmt::join(given.numbers, ","), given.target); }

// The inverse of short_form().
Given given_of(std::string_view text) {
  Given given;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    int64_t number = 0;
    at = std::from_chars(at, text.data() + text.size(), number).ptr + 1;
    given.numbers.push_back(number);
  }
  given.target = given.numbers.back();
  given.numbers.pop_back();
  return given;
}

// A value of some expression of all the numbers with positive whole numbers on the way, if chance finds one.
std::optional<int64_t> some_value(std::vector<int64_t> numbers, Generator& generator) {
  shuffle(numbers, generator);
  while (numbers.size() > 1) {
    const int64_t b = numbers.back();
    numbers.pop_back();
    int64_t& a = numbers[static_cast<size_t>(generator.integer(std::ssize(numbers)))];
    const int64_t op = generator.integer(4);
    if ((op == 2 && a <= b) || (op == 3 && a % b != 0)) return {};
    a = op == 0 ? a + b : op == 1 ? a * b : op == 2 ? a - b : a / b;
  }
  return numbers[0];
}

class Countdown : public PuzzleTask {
 public:
  explicit Countdown(const CountdownOptions& options) : options_(options) {
    check_fields("countdown", fields(options_));
    check(options_.fewest <= options_.count, "countdown: fewest must be at most count ({}), got {}", options_.count,
          options_.fewest);
  }
  std::string name() const override { return "countdown"; }
  std::string about() const override {
    return fmt::format("reach a target with {} to {} numbers, each used {} once; reward: 1 for the exact target{}",
                       options_.fewest, options_.count, options_.all ? "exactly" : "at most",
                       options_.near > 0 ? fmt::format(", less than {} for another value", options_.near) : "");
  }
  std::string alphabet() const override { return "0123456789+-*/(),:"; }
  std::string answer_form() const override { return "one arithmetic expression"; }
  int64_t max_question() const override { return options_.count * 4 + 4; }
  int64_t max_answer() const override { return options_.count * 3 + options_.count - 1 + 2 * (options_.count - 2); }
  int64_t max_request() const override { return max_question() + options_.count + 180; }
  Puzzle draw(Generator& generator) const override {
    const Given given = draw_numbers(generator);
    const auto answer = solve_countdown(given.numbers, given.target, options_.all);
    check(answer.has_value(), "countdown: the solver found nothing for {}", short_form(given));
    Given sorted = given;
    std::ranges::sort(sorted.numbers);
    return {.question = short_form(given),
            .request = fmt::format("Make {} from the numbers {} by adding, subtracting, multiplying and dividing, with "
                                   "parentheses where needed. Use each number {} once and no other number.",
                                   given.target, fmt::join(given.numbers, ", "), options_.all ? "exactly" : "at most"),
            .answer = *answer,
            .key = short_form(sorted),
            .gold = short_form(given),
            .subject = fmt::format("{} numbers", given.numbers.size()),
            .level = static_cast<int>(given.numbers.size()) - 1};
  }
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    const Given given = given_of(puzzle.gold);
    Score score;
    score.reward = countdown_reward(answer, given.numbers, given.target, options_.all, options_.near);
    score.solved = score.reward == 1;
    score.parts = {{"right", score.solved ? 1.0 : 0.0}};
    if (options_.near > 0) score.parts.emplace_back("near", score.solved ? 0 : score.reward);
    return score;
  }

 private:
  // Numbers of which some reach the target. No number alone is the target.
  Given draw_numbers(Generator& generator) const {
    for (int64_t i = 0; i < kMostTries; ++i) {
      Given given;
      given.numbers.resize(
          static_cast<size_t>(options_.fewest + generator.integer(options_.count - options_.fewest + 1)));
      for (int64_t& number : given.numbers) number = 1 + generator.integer(options_.largest);
      std::vector<int64_t> used = given.numbers;
      if (!options_.all) used.resize(static_cast<size_t>(2 + generator.integer(std::ssize(used) - 1)));
      given.target = some_value(used, generator).value_or(0);
      const bool trivial = std::ranges::count(given.numbers, given.target) > 0;
      if (given.target >= 1 && given.target <= options_.target && !trivial) return given;
    }
    fail("countdown: {} draws found no puzzle with numbers up to {} and targets up to {}", kMostTries, options_.largest,
         options_.target);
  }

  CountdownOptions options_;
};

}  // namespace

std::vector<Field> fields(CountdownOptions& o) {
  return {
      {"count", &o.count, "numbers of a puzzle, at most", whole_from(2, 6)},
      {"fewest", &o.fewest, "numbers of a puzzle, at least", whole_from(2, 6)},
      {"largest", &o.largest, "number", whole_from(2, 100)},
      {"target", &o.target, "the largest target", whole_from(10, 1000)},
      {"all", &o.all, "an answer must use all numbers"},
      {"near", &o.near, "reward for an expression one off the target is half of this, less further off", kBelowOne}};
}

std::unique_ptr<PuzzleTask> countdown_puzzles(const CountdownOptions& options) {
  return std::make_unique<Countdown>(options);
}

}  // namespace pg

// Sums, differences and products of two numbers.
#include <algorithm>
#include <cmath>

#include "tasks/puzzles/exact_number.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg {
namespace {

struct Operation {
  char sign;
  const char* request;  // {0} and {1} are the numbers
  int64_t (*result)(int64_t a, int64_t b);
};
constexpr Operation kOperations[] = {
    {'+', "What is {} + {}?", [](int64_t a, int64_t b) { return a + b; }},
    {'-', "What is {} - {}?", [](int64_t a, int64_t b) { return a - b; }},
    {'*', "What is {} * {}?", [](int64_t a, int64_t b) { return a * b; }},
};

// The digits that no other digit follows, with a minus before them if it follows no digit. Empty if there are none.
std::string_view last_number(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const size_t last = text.find_last_of(kDigits);
  if (last == std::string_view::npos) return {};
  const size_t before = text.find_last_not_of(kDigits, last);
  size_t begin = before == std::string_view::npos ? 0 : before + 1;
  if (begin > 0 && text[begin - 1] == '-' && (begin == 1 || kDigits.find(text[begin - 2]) == std::string_view::npos))
    --begin;
  return text.substr(begin, last + 1 - begin);
}

class Arithmetic : public PuzzleTask {
 public:
  explicit Arithmetic(const ArithmeticOptions& options) : options_(options) {
    check_fields("arithmetic", fields(options_));
    for (const char sign : options_.operations) {
      const auto* found = std::ranges::find(kOperations, sign, &Operation::sign);
      check(found != std::end(kOperations), "arithmetic: the operations are some of \"+-*\", got \"{}\"",
            options_.operations);
      operations_.push_back(found);
    }
    check(!operations_.empty(), "arithmetic: the operations are some of \"+-*\", got none");
  }
  std::string name() const override { return "arithmetic"; }
  std::string about() const override {
    return fmt::format("{} of two numbers of up to {} digits; reward: 1 for the right number", options_.operations,
                       options_.digits);
  }
  std::string alphabet() const override { return "0123456789+-*"; }
  std::string answer_form() const override { return "the number"; }
  int64_t max_question() const override { return 2 * options_.digits + 1; }
  int64_t max_answer() const override { return 2 * options_.digits + 1; }
  int64_t max_request() const override { return max_question() + 16; }
  Puzzle draw(Generator& generator) const override {
    const Operation& op = *operations_[static_cast<size_t>(generator.integer(std::ssize(operations_)))];
    const int64_t a = number(generator), b = number(generator);
    const bool ordered = op.sign == '-';
    return {.question = fmt::format("{}{}{}", a, op.sign, b),
            .request = fmt::format(fmt::runtime(op.request), a, b),
            .answer = fmt::format("{}", op.result(a, b)),
            .key = fmt::format("{}{}{}", ordered ? a : std::min(a, b), op.sign, ordered ? b : std::max(a, b)),
            .gold = fmt::format("{}", op.result(a, b)),
            .subject = std::string(1, op.sign),
            .level = static_cast<int>(std::max(fmt::format("{}", a).size(), fmt::format("{}", b).size()))};
  }
  Score grade(const Puzzle& puzzle, std::string_view answer) const override {
    Score score;
    score.solved = same_number(answer, puzzle.gold);
    score.parts = {{"right", score.solved ? 1 : 0}};
    if (options_.in_words > 0) {
      const std::string_view number = last_number(answer);
      const bool right = !score.solved && same_number(number, puzzle.gold);
      const double share = right ? static_cast<double>(number.size()) / static_cast<double>(answer.size()) : 0;
      score.parts.emplace_back("in words", options_.in_words * share);
    }
    for (const auto& [name, value] : score.parts) score.reward += value;
    return score;
  }
  bool same_answer(const Puzzle&, std::string_view a, std::string_view b) const override {
    return a == b || same_number(a, b);
  }

 private:
  // Each number of digits is equally likely.
  int64_t number(Generator& generator) const {
    const int64_t digits = 1 + generator.integer(options_.digits);
    const auto least = digits == 1 ? 0 : std::llround(std::pow(10, digits - 1));
    return least + generator.integer(std::llround(std::pow(10, digits)) - least);
  }

  ArithmeticOptions options_;
  std::vector<const Operation*> operations_;
};

}  // namespace

std::vector<Field> fields(ArithmeticOptions& o) {
  return {{"operations", &o.operations, "some of +-*"},
          {"digits", &o.digits, "of each number, at most", whole_from(1, 8)},
          {"in-words", &o.in_words,
           "reward if the last number is right, but not alone: this times its share of the characters", kBelowOne}};
}

std::unique_ptr<PuzzleTask> arithmetic_puzzles(const ArithmeticOptions& options) {
  return std::make_unique<Arithmetic>(options);
}

}  // namespace pg

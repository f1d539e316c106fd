// Reads expressions of the task countdown, and rewards them.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "tasks/puzzles/countdown.h"

namespace pg {
namespace {

// expression = term {("+" | "-") term}, term = factor {("*" | "/") factor}, factor = number | "(" expression ")"
class Parser {
 public:
  Parser(std::string_view text, int64_t steps) : text_(text), steps_(steps) {}

  std::optional<ReadExpression> whole() {
    const auto value = chain(/*products=*/false);
    if (!value || peek() != '\0' || at_ < text_.size()) return {};
    return ReadExpression{*value, std::move(numbers_)};
  }

 private:
  // The next character that is not a space; '\0' at the end.
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // False if no step is left.
  bool step() { return --steps_ >= 0; }
  // Terms with + and -, or factors with * and /.
  std::optional<Fraction> chain(bool products) {
    const auto operand = [&] { return products ? factor() : chain(true); };
    auto value = operand();
    for (char op = peek(); value && (products ? op == '*' || op == '/' : op == '+' || op == '-'); op = peek()) {
      if (!step()) return {};
      ++at_;
      const auto right = operand();
      if (!right) return {};
      value = combined(*value, op, *right);
    }
    return value;
  }
  std::optional<Fraction> factor() {
    if (!step()) return {};
    if (peek() != '(') return number();
    ++at_;
    const auto value = chain(false);
    if (!value || peek() != ')' || !step()) return {};
    ++at_;
    return value;
  }
  std::optional<Fraction> number() {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const std::string_view digits = text_.substr(at_, static_cast<size_t>(end - text_.data()) - at_);
    if (error != std::errc{} || digits[0] == '-' || (digits[0] == '0' && digits.size() > 1)) return {};
    at_ += digits.size();
    numbers_.push_back(value);
    return Fraction{value, 1};
  }

  std::string_view text_;
  int64_t steps_;
  size_t at_ = 0;
  std::vector<int64_t> numbers_;
};

}  // namespace

std::optional<ReadExpression> read_expression(std::string_view text, int64_t steps) {
  return Parser(text, steps).whole();
}

std::optional<Fraction> countdown_value(std::string_view expression, std::span<const int64_t> numbers, bool all) {
  const auto read = read_expression(expression);
  if (!read) return {};
  std::vector<int64_t> left(numbers.begin(), numbers.end());
  for (const int64_t number : read->numbers) {
    const auto found = std::ranges::find(left, number);
    if (found == left.end()) return {};
    left.erase(found);
  }
  return !all || left.empty() ? std::optional(read->value) : std::nullopt;
}

double countdown_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all,
                        double near) {
  const auto value = countdown_value(answer, numbers, all);
  if (!value) return 0;
  return *value == target ? 1 : near / (1 + std::abs(value->value() - static_cast<double>(target)));
}

}  // namespace pg

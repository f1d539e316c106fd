// Reads expressions of the task countdown and computes their exact values.
#include <algorithm>
#include <charconv>
#include <vector>

#include "tasks/puzzles/countdown.h"

namespace pg {
namespace {

constexpr int kDeepest = 40;  // parentheses within each other

// expression = term {("+" | "-") term}, term = factor {("*" | "/") factor}, factor = number | "(" expression ")"
class Parser {
 public:
  Parser(std::string_view text, std::span<const int64_t> numbers)
      : text_(text), left_(numbers.begin(), numbers.end()) {}

  std::optional<Fraction> whole() {
    const auto value = chain(/*products=*/false, 0);
    return peek() == '\0' && at_ == text_.size() ? value : std::nullopt;
  }
  size_t unused() const { return left_.size(); }

 private:
  // The next character that is not a space; '\0' at the end.
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  // Terms with + and -, or factors with * and /.
  std::optional<Fraction> chain(bool products, int depth) {
    const auto operand = [&] { return products ? factor(depth) : chain(true, depth); };
    auto value = operand();
    for (char op = peek(); value && (products ? op == '*' || op == '/' : op == '+' || op == '-'); op = peek()) {
      ++at_;
      const auto right = operand();
      if (!right) return {};
      value = combined(*value, op, *right);
    }
    return value;
  }
  std::optional<Fraction> factor(int depth) {
    if (peek() != '(') return number();
    if (depth == kDeepest) return {};
    ++at_;
    const auto value = chain(false, depth + 1);
    if (!value || peek() != ')') return {};
    ++at_;
    return value;
  }
  std::optional<Fraction> number() {
    int64_t value = 0;
    if (peek() < '1' || peek() > '9') return {};
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    const auto found = std::ranges::find(left_, value);
    if (error != std::errc{} || found == left_.end()) return {};
    left_.erase(found);
    at_ = static_cast<size_t>(end - text_.data());
    return Fraction{value, 1};
  }

  std::string_view text_;
  std::vector<int64_t> left_;  // the numbers that are not used yet
  size_t at_ = 0;
};

}  // namespace

bool Fraction::operator==(int64_t whole) const {
  int64_t scaled = 0;
  return !__builtin_mul_overflow(whole, denominator, &scaled) && scaled == numerator;
}

std::optional<Fraction> combined(Fraction a, char op, Fraction b) {
  if (op == '/') {
    if (b.numerator == 0 || b.numerator == INT64_MIN || b.denominator == INT64_MIN) return {};
    const bool negative = b.numerator < 0;
    b = {negative ? -b.denominator : b.denominator, negative ? -b.numerator : b.numerator};
  }
  Fraction result;
  if (__builtin_mul_overflow(a.denominator, b.denominator, &result.denominator)) return {};
  if (op == '*' || op == '/') {
    if (__builtin_mul_overflow(a.numerator, b.numerator, &result.numerator)) return {};
    return result;
  }
  int64_t left = 0, right = 0;
  if (__builtin_mul_overflow(a.numerator, b.denominator, &left)) return {};
  if (__builtin_mul_overflow(b.numerator, a.denominator, &right)) return {};
  const bool overflow = op == '+' ? __builtin_add_overflow(left, right, &result.numerator)
                                  : __builtin_sub_overflow(left, right, &result.numerator);
  return overflow ? std::nullopt : std::optional(result);
}

std::optional<Fraction> countdown_value(std::string_view expression, std::span<const int64_t> numbers, bool all) {
  Parser parser(expression, numbers);
  const auto value = parser.whole();
  return value && (!all || parser.unused() == 0) ? value : std::nullopt;
}

}  // namespace pg

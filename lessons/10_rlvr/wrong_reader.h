#pragma once
// A reader of expressions with one mistake of many, for the wrong answers to 10.1.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "lessons/10_rlvr/lesson.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson10 {
using kit::Name;

// The reader with one mistake.
template <Name mistake>
struct Reader {
  std::string_view text;
  int64_t steps;
  std::vector<int64_t> numbers = {};

  char next() {
    while (mistake != "no_spaces" && (text.starts_with(' ') || (mistake == "tabs" && text.starts_with('\t'))))
      text.remove_prefix(1);
    return text.empty() ? '\0' : text[0];
  }
  bool take() {
    const char taken = text[0];
    text.remove_prefix(1);
    if (mistake == "free_parentheses" && (taken == '(' || taken == ')')) return true;
    if (mistake == "free_operators" && taken != '(' && taken != ')') return true;
    if (mistake == "counted_afterwards") return --steps, true;
    if (mistake == "no_limit" || mistake == "limit_numbers_only") return true;
    return --steps >= 0;
  }
  std::optional<Fraction> apply(std::optional<Fraction> a, char op, Fraction b) {
    if (mistake == "integer_division" && op == '/' && b.numerator != 0) return Fraction{a->numerator / b.numerator, 1};
    if (mistake == "division_by_zero" && op == '/' && b.numerator == 0) return Fraction{0, 1};
    if (mistake == "exchanged") return combined(b, op, *a);
    return combined(*a, op, b);
  }
  std::optional<Fraction> sum() {
    auto value = product();
    while (value && (next() == '+' || next() == '-' || (mistake == "one_level" && (next() == '*' || next() == '/')))) {
      const char op = text[0];
      if (!take()) return {};
      const auto right = mistake == "right_to_left" ? sum() : product();
      if (!right) return mistake == "half_expression" && next() == '\0' ? value : std::nullopt;
      value = apply(value, op, *right);
    }
    return value;
  }
  std::optional<Fraction> product() {
    auto value = factor();
    if (mistake == "one_level") return value;
    while (value && (next() == '*' || next() == '/' || (mistake == "product_without_sign" && next() == '('))) {
      const char op = text[0] == '(' ? '*' : text[0];
      if (text[0] != '(' && !take()) return {};
      const auto right = mistake == "right_to_left_product" ? product() : factor();
      if (!right) return {};
      value = apply(value, op, *right);
    }
    return value;
  }
  std::optional<Fraction> factor() {
    const bool sign = (mistake == "unary_minus" && next() == '-') || (mistake == "unary_plus" && next() == '+');
    if (sign) {
      const bool minus = text[0] == '-';
      if (!take()) return {};
      const auto value = factor();
      return value && minus ? combined({0, 1}, '-', *value) : value;
    }
    if (next() == '(' && mistake != "no_parentheses") {
      if (!take()) return {};
      if (mistake == "nothing_is_0" && next() == ')') return take() ? std::optional(Fraction{0, 1}) : std::nullopt;
      const auto value = sum();
      if (mistake == "unclosed" && next() == '\0') return value;
      if (!value || next() != ')' || !take()) return {};
      return value;
    }
    std::string digits;
    while (!text.empty() && ((text[0] >= '0' && text[0] <= '9') || (mistake == "spaces_join" && text[0] == ' '))) {
      if (text[0] != ' ') digits += text[0];
      text.remove_prefix(1);
    }
    if (mistake == "step_per_digit") steps -= std::ssize(digits) - 1;
    if ((mistake != "no_limit" && --steps < 0 && mistake != "counted_afterwards") || digits.empty()) return {};
    if (mistake == "zero_refused" && digits[0] == '0') return {};
    const bool only_zeros = digits.find_first_not_of('0') == digits.npos;
    if (mistake != "zeros" && !(mistake == "double_zeros" && only_zeros) && digits.size() > 1 && digits[0] == '0')
      return {};
    if (mistake == "eighteen_digits" && digits.size() > 18) return {};
    int64_t number = 0;
    if (mistake == "throws") number = std::stoll(digits);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{}) {
      if (mistake != "saturates" && mistake != "wraps") return {};
      number = std::strtoll(digits.c_str(), nullptr, 10);
      if (mistake == "wraps") {
        uint64_t wrapped = 0;
        for (const char c : digits) wrapped = wrapped * 10 + static_cast<uint64_t>(c - '0');
        number = static_cast<int64_t>(wrapped);
      }
    }
    if (mistake != "no_zero" || number != 0) numbers.push_back(number);
    return Fraction{number, 1};
  }
};
template <Name mistake>
std::optional<ReadExpression> wrong_read(std::string_view text, int64_t steps) {
  if (mistake == "nul_ends") text = text.substr(0, text.find('\0'));
  static int64_t used = 0;  // by the calls before, for never_reset
  Reader<mistake> reader{text, mistake == "limit_too_strict" ? steps - 1 : steps - used};
  const auto value = reader.sum();
  reader.next();
  if (mistake == "never_reset") used += steps - used - reader.steps;
  if (mistake == "no_numbers") reader.numbers.clear();
  if (mistake == "sorted") std::sort(reader.numbers.begin(), reader.numbers.end());
  if (mistake == "counted_afterwards" && reader.steps < 0) return {};
  if (!value || (mistake != "leftover" && !reader.text.empty())) return {};
  return ReadExpression{*value, reader.numbers};
}

}  // namespace pg::lesson10

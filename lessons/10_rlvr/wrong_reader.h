#pragma once
// A reader of expressions with one mistake of many, for the wrong answers to 10.1.
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "lessons/10_rlvr/lesson.h"

namespace pg::lesson10 {

enum class Read {
  right_to_left,
  right_to_left_product,
  one_level,
  integer_division,
  unary_minus,
  unary_plus,
  no_limit,
  limit_numbers_only,
  limit_too_strict,
  leftover,
  unclosed,
  zeros,
  spaces_join,
  no_spaces,
  no_parentheses,
  half_expression,
  nul_ends,
  saturates,
  product_without_sign,
  zero_refused,
  step_per_digit,
  free_parentheses,
  free_operators,
  counted_afterwards,
  never_reset,
  tabs,
  sorted,
  division_by_zero,
  wraps,
  throws,
  exchanged,
  no_numbers,
};
// The reader with one mistake.
template <Read mistake>
struct Reader {
  std::string_view text;
  int64_t steps;
  std::vector<int64_t> numbers = {};

  char next() {
    while (mistake != Read::no_spaces && (text.starts_with(' ') || (mistake == Read::tabs && text.starts_with('\t'))))
      text.remove_prefix(1);
    return text.empty() ? '\0' : text[0];
  }
  bool take() {
    const char taken = text[0];
    text.remove_prefix(1);
    if (mistake == Read::free_parentheses && (taken == '(' || taken == ')')) return true;
    if (mistake == Read::free_operators && taken != '(' && taken != ')') return true;
    if (mistake == Read::counted_afterwards) return --steps, true;
    if (mistake == Read::no_limit || mistake == Read::limit_numbers_only) return true;
    return --steps >= 0;
  }
  std::optional<Fraction> apply(std::optional<Fraction> a, char op, Fraction b) {
    if (mistake == Read::integer_division && op == '/' && b.numerator != 0)
      return Fraction{a->numerator / b.numerator, 1};
    if (mistake == Read::division_by_zero && op == '/' && b.numerator == 0) return Fraction{0, 1};
    if (mistake == Read::exchanged) return combined(b, op, *a);
    return combined(*a, op, b);
  }
  std::optional<Fraction> sum() {
    auto value = product();
    while (value &&
           (next() == '+' || next() == '-' || (mistake == Read::one_level && (next() == '*' || next() == '/')))) {
      const char op = text[0];
      if (!take()) return {};
      const auto right = mistake == Read::right_to_left ? sum() : product();
      if (!right) return mistake == Read::half_expression && next() == '\0' ? value : std::nullopt;
      value = apply(value, op, *right);
    }
    return value;
  }
  std::optional<Fraction> product() {
    auto value = factor();
    if (mistake == Read::one_level) return value;
    while (value && (next() == '*' || next() == '/' || (mistake == Read::product_without_sign && next() == '('))) {
      const char op = text[0] == '(' ? '*' : text[0];
      if (text[0] != '(' && !take()) return {};
      const auto right = mistake == Read::right_to_left_product ? product() : factor();
      if (!right) return {};
      value = apply(value, op, *right);
    }
    return value;
  }
  std::optional<Fraction> factor() {
    const bool sign = (mistake == Read::unary_minus && next() == '-') || (mistake == Read::unary_plus && next() == '+');
    if (sign) {
      const bool minus = text[0] == '-';
      if (!take()) return {};
      const auto value = factor();
      return value && minus ? combined({0, 1}, '-', *value) : value;
    }
    if (next() == '(' && mistake != Read::no_parentheses) {
      if (!take()) return {};
      const auto value = sum();
      if (mistake == Read::unclosed && next() == '\0') return value;
      if (!value || next() != ')' || !take()) return {};
      return value;
    }
    std::string digits;
    while (!text.empty() && ((text[0] >= '0' && text[0] <= '9') || (mistake == Read::spaces_join && text[0] == ' '))) {
      if (text[0] != ' ') digits += text[0];
      text.remove_prefix(1);
    }
    if (mistake == Read::step_per_digit) steps -= std::ssize(digits) - 1;
    if ((mistake != Read::no_limit && --steps < 0 && mistake != Read::counted_afterwards) || digits.empty()) return {};
    if (mistake == Read::zero_refused && digits[0] == '0') return {};
    if (mistake != Read::zeros && digits.size() > 1 && digits[0] == '0') return {};
    int64_t number = 0;
    if (mistake == Read::throws) number = std::stoll(digits);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{}) {
      if (mistake != Read::saturates && mistake != Read::wraps) return {};
      number = std::strtoll(digits.c_str(), nullptr, 10);
      if (mistake == Read::wraps) {
        uint64_t wrapped = 0;
        for (const char c : digits) wrapped = wrapped * 10 + static_cast<uint64_t>(c - '0');
        number = static_cast<int64_t>(wrapped);
      }
    }
    numbers.push_back(number);
    return Fraction{number, 1};
  }
};
template <Read mistake>
std::optional<ReadExpression> wrong_read(std::string_view text, int64_t steps) {
  if (mistake == Read::nul_ends) text = text.substr(0, text.find('\0'));
  static int64_t used = 0;  // by the calls before, for never_reset
  Reader<mistake> reader{text, mistake == Read::limit_too_strict ? steps - 1 : steps - used};
  const auto value = reader.sum();
  reader.next();
  if (mistake == Read::never_reset) used += steps - used - reader.steps;
  if (mistake == Read::no_numbers) reader.numbers.clear();
  if (mistake == Read::sorted) std::sort(reader.numbers.begin(), reader.numbers.end());
  if (mistake == Read::counted_afterwards && reader.steps < 0) return {};
  if (!value || (mistake != Read::leftover && !reader.text.empty())) return {};
  return ReadExpression{*value, reader.numbers};
}

}  // namespace pg::lesson10

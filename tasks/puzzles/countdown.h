#pragma once
// Expressions of the task countdown: their exact values, and a solver.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pg {

// An exact fraction, not reduced; the denominator is positive.
struct Fraction {
  int64_t numerator = 0, denominator = 1;

  bool operator==(int64_t whole) const;
  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};
// a OP b for OP of "+-*/". Nothing for a division by zero, or if a product or sum does not fit in 64 bits.
std::optional<Fraction> combined(Fraction a, char op, Fraction b);

// The value of an expression of whole numbers, + - * / ( ) and spaces, in which each of `numbers` is used at most once
// (`all`: exactly once). Nothing for any other text: other numbers, signs of numbers, leading zeros, more than 40
// parentheses within each other.
std::optional<Fraction> countdown_value(std::string_view expression, std::span<const int64_t> numbers, bool all);

// An expression that countdown_value() says is `target`, with as few numbers as possible; nothing if there is none. It
// tries all expressions: up to a second for six numbers. `target` is positive, the numbers are 1 to 100, at most six.
std::optional<std::string> solve_countdown(std::span<const int64_t> numbers, int64_t target, bool all);

}  // namespace pg

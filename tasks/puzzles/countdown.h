#pragma once
// Expressions of the task countdown: their exact values, their rewards, and a solver.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tasks/puzzles/exact_number.h"

namespace pg {

// The value of an expression, and the numbers in it in the order of the text.
struct ReadExpression {
  Fraction value;
  std::vector<int64_t> numbers;
};
// Reads whole numbers, + - * / ( ) and spaces. Nothing for any other text, for signs of numbers, for numbers with
// leading zeros, for a division by zero, and if a number does not fit in 64 bits. Each number, operator and parenthesis
// that is read is a step; nothing for more than `steps` of them. That bounds the time, and the depth of the recursion.
std::optional<ReadExpression> read_expression(std::string_view text, int64_t steps = 256);

// The value of an expression in which each of `numbers` is used at most once (`all`: exactly once). Nothing for any
// other text.
std::optional<Fraction> countdown_value(std::string_view expression, std::span<const int64_t> numbers, bool all);

// 1 if countdown_value() is the target, near / (1 + distance from the target) for another value, 0 without one.
double countdown_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all,
                        double near);

// An expression that countdown_value() says is `target`, with as few numbers as possible; nothing if there is none. It
// tries all expressions: up to a second for six numbers. `target` is positive, the numbers are 1 to 100, at most six.
std::optional<std::string> solve_countdown(std::span<const int64_t> numbers, int64_t target, bool all);

}  // namespace pg

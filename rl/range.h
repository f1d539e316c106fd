#pragma once
// Which numbers a field of a configuration may hold.
#include <cmath>
#include <string>
#include <string_view>

namespace pg::rl {

// Never NaN and never infinite.
struct Range {
  double low = -HUGE_VAL, high = HUGE_VAL;   // both included ...
  bool open_low = false, open_high = false;  // ... unless open
  bool or_zero = false;                      // 0 is allowed beside them
  bool whole = false;
};
inline constexpr Range kAnyNumber, kNotNegative{.low = 0}, kPositive{.low = 0, .open_low = true},
    kShare{.low = 0, .high = 1}, kBelowOne{.low = 0, .high = 1, .open_high = true};
// Whole numbers; up to 2^53 a double holds each of them.
constexpr Range whole_from(double low, double high = 0x1p53) { return {.low = low, .high = high, .whole = true}; }

// "a number, at least 0 and below 1", for sentences.
std::string to_text(const Range& range);
// Error "WHAT must be RANGE, got VALUE" when the value is outside.
void check_range(std::string_view what, double value, const Range& range);

}  // namespace pg::rl

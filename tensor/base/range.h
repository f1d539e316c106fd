#pragma once
// The range of values that a numeric field of a configuration may have.
#include <cmath>
#include <string>
#include <string_view>

namespace pg {

// A range never includes NaN or infinity.
struct Range {
  double low = -HUGE_VAL, high = HUGE_VAL;   // both included, unless open
  bool open_low = false, open_high = false;  // the bound itself is excluded
  bool or_zero = false;                      // 0 is allowed in addition
  bool whole = false;
};
inline constexpr Range kAnyNumber, kNotNegative{.low = 0}, kPositive{.low = 0, .open_low = true},
    kShare{.low = 0, .high = 1}, kBelowOne{.low = 0, .high = 1, .open_high = true};
// Whole numbers. A double represents all of them up to 2^53 exactly.
constexpr Range whole_from(double low, double high = 0x1p53) { return {.low = low, .high = high, .whole = true}; }

bool contains(const Range& range, double value);
// "at least 1", "from 0 to less than 1", "above 0"; empty for any number.
std::string bounds_of(const Range& range);
// "a whole number of at least 1", "a number from 0 to 1", "a finite number": text for messages.
std::string to_text(const Range& range);
// Throws Error "WHAT must be RANGE, got VALUE" if the value is outside.
void check_range(std::string_view what, double value, const Range& range);

}  // namespace pg

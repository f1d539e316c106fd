// The range of values that a field may have, as a test and as text.
#include "tensor/base/range.h"

#include "tensor/base/error.h"

namespace pg {

bool contains(const Range& r, double value) {
  const bool above = r.open_low ? value > r.low : value >= r.low;
  const bool below = r.open_high ? value < r.high : value <= r.high;
  const bool inside = std::isfinite(value) && (!r.whole || value == std::floor(value)) && above && below;
  return inside || (r.or_zero && value == 0);
}

std::string bounds_of(const Range& r) {
  const bool has_low = std::isfinite(r.low), has_high = std::isfinite(r.high) && r.high < 0x1p53;
  std::string text;
  if (has_low && has_high && r.open_low) {
    text = fmt::format("above {:.15g} and {} {:.15g}", r.low, r.open_high ? "below" : "at most", r.high);
  } else if (has_low && has_high) {
    text = fmt::format("from {:.15g} to {}{:.15g}", r.low, r.open_high ? "less than " : "", r.high);
  } else if (has_low) {
    text = fmt::format("{} {:.15g}", r.open_low ? "above" : "at least", r.low);
  } else if (has_high) {
    text = fmt::format("{} {:.15g}", r.open_high ? "below" : "at most", r.high);
  }
  return r.or_zero ? text + ", or 0" : text;
}

std::string to_text(const Range& r) {
  const std::string bounds = bounds_of(r), kind = r.whole ? "a whole number" : "a number";
  if (bounds.empty()) return r.whole ? kind : "a finite number";
  return fmt::format("{} {}{}", kind, bounds.starts_with("at ") ? "of " : "", bounds);
}

void check_range(std::string_view what, double value, const Range& r) {
  check(contains(r, value), "{} must be {}, got {}", what, to_text(r), value);
}

}  // namespace pg

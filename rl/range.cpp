// The range of values that a field may have.
#include "rl/range.h"

#include "tensor/base/error.h"

namespace pg::rl {

std::string to_text(const Range& r) {
  const std::string kind = r.whole ? "a whole number" : "a finite number";
  const std::string low = fmt::format("{} {:.0f}", r.open_low ? "above" : "at least", r.low);
  const std::string high = fmt::format("{} {:.0f}", r.open_high ? "below" : "at most", r.high);
  const bool has_low = std::isfinite(r.low), has_high = std::isfinite(r.high) && r.high < 0x1p53;
  std::string text = kind;
  if (has_low) text += ", " + low;
  if (has_high) text += (has_low ? " and " : ", ") + high;
  return r.or_zero ? text + ", or 0" : text;
}

void check_range(std::string_view what, double value, const Range& r) {
  const bool above = r.open_low ? value > r.low : value >= r.low;
  const bool below = r.open_high ? value < r.high : value <= r.high;
  const bool inside = std::isfinite(value) && (!r.whole || value == std::floor(value)) && above && below;
  check(inside || (r.or_zero && value == 0), "{} must be {}, got {}", what, to_text(r), value);
}

}  // namespace pg::rl

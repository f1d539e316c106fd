// Prints the values that checks compare.
#include "lessons/kit/value.h"

#include <cmath>
#include <limits>

namespace pg::kit {
namespace {

void append(std::string& text, const Value& value, int digits, int dim, int64_t& at) {
  if (dim == value.shape.rank()) {
    text += fmt::format("{:.{}g}", value.v[at++], digits);
    return;
  }
  text += '[';
  for (int64_t i = 0; i < value.shape[dim]; ++i) {
    if (i) text += ", ";
    append(text, value, digits, dim + 1, at);
  }
  text += ']';
}

}  // namespace

std::string to_text(const Value& value, size_t limit, int digits) {
  if (value.v.size() > limit) return "";
  std::string text;
  int64_t at = 0;
  append(text, value, digits, 0, at);
  return text;
}

int digits_to_differ(double a, double b, int least) {
  constexpr int kMost = 17;  // enough to distinguish any two doubles
  int digits = least;
  while (digits < kMost && fmt::format("{:.{}g}", a, digits) == fmt::format("{:.{}g}", b, digits)) ++digits;
  return a == b ? least : digits;
}

std::string index_text(const Shape& shape, int64_t n) {
  Dims index = Dims::filled(shape.rank(), 0);
  for (int d = shape.rank() - 1; d >= 0; --d) {
    index[d] = n % shape[d];
    n /= shape[d];
  }
  return fmt::format("{}", index);
}

double relative_error(const Value& a, const Value& b) {
  double error = 0, scale = 0;
  for (size_t i = 0; i < a.v.size(); ++i) {
    if (a.v[i] == b.v[i] || (std::isnan(a.v[i]) && std::isnan(b.v[i]))) {
      if (std::isfinite(b.v[i])) scale = std::max(scale, std::abs(b.v[i]));
      continue;
    }
    if (!std::isfinite(a.v[i]) || !std::isfinite(b.v[i])) return std::numeric_limits<double>::infinity();
    error = std::max(error, std::abs(a.v[i] - b.v[i]));
    scale = std::max(scale, std::abs(b.v[i]));
  }
  return scale > 0 ? error / scale : error;
}

}  // namespace pg::kit

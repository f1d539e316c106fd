// Searches for a known mistake that gives the learner's values.
#include "lessons/kit/diagnose.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace pg::kit {
namespace {

using Text = std::optional<std::string>;

bool same(const Value& a, const Value& b) {
  return a.shape == b.shape && a.v.size() == b.v.size() && relative_error(a, b) <= 1e-6;
}

Value map(const Value& x, const std::function<double(double)>& f) {
  Value y = x;
  std::transform(x.v.begin(), x.v.end(), y.v.begin(), f);
  return y;
}
Value scaled(const Value& x, double factor) {
  return map(x, [factor](double v) { return factor * v; });
}

// y[.., r, c] = x[.., row(r), column(c)] over the last two axes.
template <class F>
Value rearranged(const Value& x, const Shape& shape, F source) {
  Value y{shape, std::vector<double>(x.v.size())};
  const int64_t rows = y.rows(), columns = y.columns(), plane = rows * columns;
  for (size_t i = 0; i < y.v.size(); ++i) {
    const int64_t n = static_cast<int64_t>(i), r = n % plane / columns, c = n % columns;
    y.v[i] = x.v[n / plane * plane + source(r, c)];
  }
  return y;
}
Value transposed(const Value& x) {
  Shape shape = x.shape;
  const int rank = shape.rank();
  std::swap(shape[rank - 2], shape[rank - 1]);
  return rearranged(x, shape, [columns = x.columns()](int64_t r, int64_t c) { return c * columns + r; });
}

// Sums x over the axes that `shape` was broadcast along; nullopt if the shapes do not broadcast.
std::optional<Value> summed_to(const Value& x, const Shape& shape) {
  const int extra = x.shape.rank() - shape.rank();
  if (extra < 0) return {};
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] != 1 && shape[d] != x.shape[d + extra]) return {};
  }
  Value y{shape, std::vector<double>(numel(shape), 0.0)};
  for (size_t i = 0; i < x.v.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), at = 0, step = 1;
    for (int d = x.shape.rank() - 1; d >= 0; --d) {
      const int64_t index = rest % x.shape[d];
      rest /= x.shape[d];
      if (d < extra) continue;
      if (shape[d - extra] != 1) at += index * step;
      step *= shape[d - extra];
    }
    y.v[at] += x.v[i];
  }
  return y;
}

std::string axis_name(const Shape& shape, int64_t n) {
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == n) return fmt::format("the size of axis {}", d);
  }
  return "the number of elements";
}

// ---- the shapes differ
Text wrong_shape(const Value& got, const Value& want) {
  if (want.shape.rank() >= 2 && same(got, transposed(want)))
    return "yours is transposed: its last two axes are swapped";
  if (got.v.size() == want.v.size()) {
    if (same({want.shape, got.v}, want)) return "the numbers are right, only the shape is not";
    return {};
  }
  if (got.v.size() > want.v.size()) {
    const auto sum = summed_to(got, want.shape);
    if (sum && same(*sum, want))
      return "the sum over the broadcast axis is missing: add up everything that one number fed";
  }
  return {};
}

// ---- the values agree to 1e-6, but not well enough: every entry that leaves the values unchanged would match
std::string float_precision(const Value& got, const Value& want, bool exact) {
  const double error = relative_error(got, want);
  if (error == 0) return "";
  if (exact) return "right up to rounding, but here every bit must agree";
  return fmt::format(
      "right to {} digits: something is computed in float, or by a slope with too large a step; use double",
      std::min(15, static_cast<int>(-std::log10(error))));
}

// ---- the shapes agree
Text not_finite(const Value& got, const Value& want) {
  for (size_t i = 0; i < got.v.size(); ++i) {
    if (!std::isfinite(got.v[i]) && std::isfinite(want.v[i])) {
      return "inf or nan: a division by zero, the log of zero, an exp that is too large, or memory never written";
    }
  }
  return {};
}
bool has_fractions(const Value& x) {
  return std::any_of(x.v.begin(), x.v.end(), [](double v) { return std::isfinite(v) && v != std::trunc(v); });
}
Text zeros(const Value& got, const Value& want) {
  if (!std::all_of(got.v.begin(), got.v.end(), [](double x) { return x == 0; })) return {};
  if (!has_fractions(want)) return "yours is all zeros: was the result ever written?";
  return "yours is all zeros: was the result ever written? Or is it a division of whole numbers, as 3 / 7, which is 0?";
}
Text truncated(const Value& got, const Value& want) {
  if (!has_fractions(want) || !same(got, map(want, [](double x) { return std::trunc(x); }))) return {};
  return "the fractions are cut off: a division of whole numbers does that, 5 / 3 is 1";
}
Text sign_flipped(const Value& got, const Value& want) {
  return same(got, scaled(want, -1)) ? Text("the sign is flipped") : Text();
}
Text sign_lost(const Value& got, const Value& want) {
  return same(got, map(want, [](double x) { return std::abs(x); }))
             ? Text("the sign is lost: yours is the absolute value")
             : Text();
}
Text twice(const Value& got, const Value& want) {
  if (same(got, scaled(want, 2))) return "yours is 2 x expected: counted twice, or a missing factor 1/2";
  if (same(got, scaled(want, 0.5)))
    return "yours is half of expected: one of two contributions is missing, or a stray 1/2";
  return {};
}
Text times_n(const Value& got, const Value& want) {
  std::vector<int64_t> sizes(want.shape.begin(), want.shape.end());
  sizes.push_back(numel(want.shape));
  for (const int64_t n : sizes) {
    if (n < 2) continue;
    const std::string what = axis_name(want.shape, n);
    if (same(got, scaled(want, n))) return fmt::format("yours is {0} x expected: divide by {0}, {1}", n, what);
    if (same(got, scaled(want, 1.0 / n))) {
      return fmt::format("yours is expected / {0}: do not divide by {0}, {1}", n, what);
    }
  }
  return {};
}
Text transposed_square(const Value& got, const Value& want) {
  if (want.shape.rank() < 2 || want.rows() != want.columns()) return {};
  return same(got, transposed(want)) ? Text("yours is transposed: rows and columns are swapped") : Text();
}
Text reversed(const Value& got, const Value& want) {
  const int64_t rows = want.rows(), columns = want.columns();
  if (rows > 1 &&
      same(got, rearranged(want, want.shape, [=](int64_t r, int64_t c) { return (rows - 1 - r) * columns + c; })))
    return "the rows are in reversed order";
  if (columns > 1 &&
      same(got, rearranged(want, want.shape, [=](int64_t r, int64_t c) { return r * columns + columns - 1 - c; })))
    return want.shape.rank() < 2 ? "the order is reversed" : "the columns are in reversed order";
  return {};
}
// Compares where both have an element; elements at the border are ignored.
bool shifted(const Value& got, const Value& want, int64_t down, int64_t right) {
  const int64_t rows = want.rows(), columns = want.columns();
  double error = 0, scale = 0;
  int64_t compared = 0;
  for (size_t i = 0; i < want.v.size(); ++i) {
    const int64_t n = static_cast<int64_t>(i), r = n % (rows * columns) / columns + down, c = n % columns + right;
    if (r < 0 || r >= rows || c < 0 || c >= columns) continue;
    error = std::max(error, std::abs(got.v[n + down * columns + right] - want.v[i]));
    scale = std::max(scale, std::abs(want.v[i]));
    ++compared;
  }
  return compared >= 2 && scale > 0 && error <= 1e-6 * scale;
}
Text off_by_one(const Value& got, const Value& want) {
  const char* along = want.shape.rank() < 2 ? "" : " along the last axis";
  if (shifted(got, want, 0, 1)) return fmt::format("yours is shifted by one place to later indices{}", along);
  if (shifted(got, want, 0, -1)) return fmt::format("yours is shifted by one place to earlier indices{}", along);
  if (shifted(got, want, 1, 0)) return "yours is shifted down by one row";
  if (shifted(got, want, -1, 0)) return "yours is shifted up by one row";
  return {};
}
Text constant_factor(const Value& got, const Value& want) {
  size_t at = 0;
  for (size_t i = 0; i < want.v.size(); ++i) {
    if (std::abs(want.v[i]) > std::abs(want.v[at])) at = i;
  }
  if (want.v.size() < 3 || want.v[at] == 0) return {};
  const double factor = got.v[at] / want.v[at];
  return same(got, scaled(want, factor)) ? Text(fmt::format("every number is {:.6g} x expected", factor)) : Text();
}
Text constant_offset(const Value& got, const Value& want) {
  if (want.v.size() < 3) return {};
  const double offset = got.v[0] - want.v[0];
  return same(got, map(want, [offset](double x) { return x + offset; }))
             ? Text(fmt::format("every number is expected {} {:.6g}", offset < 0 ? "-" : "+", std::abs(offset)))
             : Text();
}
Text border_missed(const Value& got, const Value& want) {
  const int64_t rows = want.rows(), columns = want.columns();
  const double scale = relative_error(scaled(want, 0), want) > 0
                           ? std::abs(*std::max_element(want.v.begin(), want.v.end(),
                                                        [](double a, double b) { return std::abs(a) < std::abs(b); }))
                           : 1;
  // Whether the border is wrong and everything else is right. Then `asks` is a question if nothing was written there.
  std::string asks;
  const auto right_except = [&](auto&& border) {
    bool border_wrong = false, zeros = true;
    for (size_t i = 0; i < want.v.size(); ++i) {
      if (std::abs(got.v[i] - want.v[i]) <= 1e-6 * scale) continue;
      const int64_t n = static_cast<int64_t>(i);
      if (!border(n % (rows * columns) / columns, n % columns)) return false;
      border_wrong = true;
      zeros &= got.v[i] == 0;
    }
    asks = zeros ? ", and these are 0: does a loop end one step early?" : "";
    return border_wrong;
  };
  if (rows > 2 && right_except([&](int64_t r, int64_t) { return r == rows - 1; }))
    return "all rows but the last are right" + asks;
  if (rows > 2 && right_except([&](int64_t r, int64_t) { return r == 0; })) return "all rows but the first are right";
  const char* what = want.shape.rank() < 2 ? "elements" : "columns";
  if (columns > 2 && right_except([&](int64_t, int64_t c) { return c == columns - 1; }))
    return fmt::format("all {} but the last are right", what) + asks;
  if (columns > 2 && right_except([&](int64_t, int64_t c) { return c == 0; }))
    return fmt::format("all {} but the first are right", what);
  return {};
}
Text other_order(const Value& got, const Value& want) {
  Value a = got, b = want;
  std::sort(a.v.begin(), a.v.end());
  std::sort(b.v.begin(), b.v.end());
  return a.v.size() > 2 && a.v.front() != a.v.back() && same(a, b) ? Text("the right numbers, in the wrong places")
                                                                   : Text();
}

// The first match is reported, so specific mistakes precede general ones.
constexpr Text (*kCatalogue[])(const Value&, const Value&) = {
    not_finite, zeros,      truncated,     sign_flipped,    twice,           times_n,   transposed_square,
    reversed,   off_by_one, border_missed, constant_factor, constant_offset, sign_lost, other_order,
};

}  // namespace

std::string diagnose(const Value& got, const Value& want, const Compare& how) {
  if (same(got, want)) return float_precision(got, want, how.rtol == 0);
  const auto said_of = [&](const std::vector<Mistake>& mistakes) -> std::string {
    const auto at = std::find_if(mistakes.begin(), mistakes.end(), [&](const auto& m) { return same(got, m.value); });
    return at == mistakes.end() ? "" : at->says;
  };
  std::string says = said_of(how.mistakes);
  if (says.empty() && how.more_mistakes) says = said_of(how.more_mistakes());
  if (!says.empty()) return says;
  if (!(got.shape == want.shape)) return wrong_shape(got, want).value_or("");
  if (how.gradient && zeros(got, want))
    return "no gradient arrives: detach(), or a number in place of a tensor, cuts the tape";
  if (how.before && how.before->shape == want.shape) {
    Value overwritten = want;
    for (size_t i = 0; i < want.v.size(); ++i) overwritten.v[i] -= how.before->v[i];
    if (same(got, overwritten)) return "the gradient that was there is overwritten: add to it";
  }
  for (const auto entry : kCatalogue) {
    if (const Text text = entry(got, want)) return *text;
  }
  return "";
}

}  // namespace pg::kit

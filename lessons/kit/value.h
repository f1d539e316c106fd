#pragma once
// Numbers with a shape, in double: what checks compare, diagnose and print.
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace pg::kit {

struct Value {
  Shape shape;
  std::vector<double> v;  // row-major

  Value() = default;
  Value(Shape s, std::vector<double> values) : shape(s), v(std::move(values)) {}
  Value(const Tensor& x) : shape(x.shape()), v(x.to_vector()) {}
  Value(const Dims& dims) : shape{dims.rank()}, v(dims.begin(), dims.end()) {}
  Value(double x) : v{x} {}
  Value(const std::vector<double>& values) : shape{static_cast<int64_t>(values.size())}, v(values) {}

  int64_t rows() const { return shape.rank() < 2 ? 1 : shape[shape.rank() - 2]; }
  int64_t columns() const { return shape.rank() < 1 ? 1 : shape.back(); }
};

// "[[1, 2], [3, 4]]" with `digits` significant digits; "" when it has more than `limit` elements.
std::string to_text(const Value& value, size_t limit = 16, int digits = 6);
// The significant digits, `least` to 17, that a and b need to print differently.
int digits_to_differ(double a, double b, int least);
// "[2, 7]" for the element at row-major position `n`.
std::string index_text(const Shape& shape, int64_t n);
// |a - b| over all elements against the largest |b|: 0 when equal, infinite when only one of a pair is NaN. Equal
// infinities agree. Where b is all zero: the largest |a|.
double relative_error(const Value& a, const Value& b);

}  // namespace pg::kit

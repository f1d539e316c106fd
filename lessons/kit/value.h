#pragma once
// Values with a shape, in double: checks compare, diagnose and print them.
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

// For example "[[1, 2], [3, 4]]", with `digits` significant digits; "" if there are more than `limit` elements.
std::string to_text(const Value& value, size_t limit = 16, int digits = 6);
// The number of significant digits, from `least` to 17, with which a and b print differently.
int digits_to_differ(double a, double b, int least);
// For example "[2, 7]" for the element at row-major index `n`.
std::string index_text(const Shape& shape, int64_t n);
// The largest |a - b| over all elements, divided by the largest |b|: 0 if equal, infinite if only one of a pair is NaN.
// Equal infinities agree. If b is all zero: the largest |a|.
double relative_error(const Value& a, const Value& b);

}  // namespace pg::kit

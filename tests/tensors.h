#pragma once
// Tensors that tests make, and comparisons of tensors. Of the layers it includes tensor/ alone, so every test may
// include it.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tensor/base/random.h"
#include "tensor/tensor.h"
#include "tests/catch.h"

namespace pg::testing {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- tensors

inline Tensor vector_of(const std::vector<double>& values, DType dtype = f64) {
  return Tensor::from(values, {std::ssize(values)}).to(dtype);
}
inline Tensor leaf(const std::vector<double>& values, DType dtype = f64) {
  return vector_of(values, dtype).set_requires_grad();
}

// N(mean, std) in f64.
inline Tensor random(const Shape& shape, uint64_t seed, double mean = 0, double std = 1) {
  Generator g(seed);
  return Tensor::normal(shape, mean, std, g, f64);
}
// N(0, 1), drawn in f64 and rounded to `dtype`.
inline Tensor random(const Shape& shape, DType dtype, uint64_t seed) { return random(shape, seed).to(dtype); }
// N(0, 1) as Tensor::normal() draws it for `dtype`: in f32 for bf16, which gives other bits than random().
inline Tensor drawn(const Shape& shape, DType dtype, uint64_t seed) {
  Generator g(seed);
  return Tensor::normal(shape, 0, 1, g, dtype);
}
// Integers in [0, below).
inline Tensor integers(const Shape& shape, Generator& g, int64_t below) {
  std::vector<int32_t> values(static_cast<size_t>(numel(shape)));
  for (int32_t& x : values) x = static_cast<int32_t>(g.integer(below));
  return Tensor::from(values, shape);
}
inline Tensor integers(const Shape& shape, uint64_t seed, int64_t below) {
  Generator g(seed);
  return integers(shape, g, below);
}

// ---- arrays of numbers, and views of them

template <class T>
std::vector<T> random_values(int64_t n, uint64_t seed) {
  Generator g(seed);
  std::vector<T> x(static_cast<size_t>(n));
  for (T& v : x) v = static_cast<T>(g.normal());
  return x;
}
template <class T>
View view(std::vector<T>& x, const Shape& shape, const Strides& strides, int64_t offset = 0) {
  View v;
  v.data = x.data() + offset;
  v.dtype = dtype_of<T>();
  v.shape = shape;
  v.strides = strides;
  return v;
}
template <class T>
View view(std::vector<T>& x, const Shape& shape) {
  return view(x, shape, contiguous_strides(shape));
}

// ---- comparisons

// ‖a − b‖ / ‖b‖. The norm of b counts as at least 1e-3: some results are nothing but rounding error (the gradient of a
// sum of probabilities).
inline double relative_error(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double difference = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    difference += (x[i] - y[i]) * (x[i] - y[i]);
    size += y[i] * y[i];
  }
  return std::isnan(difference) ? HUGE_VAL : std::sqrt(difference) / std::max(std::sqrt(size), 1e-3);
}
// ‖got − want‖ / ‖want‖, or ‖got‖ if `want` is 0: the largest error of an element would be too strict for sums near 0.
// Equal infinities are left out.
template <class T>
double relative_error(const std::vector<T>& got, const std::vector<double>& want) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(want[i]) && got[i] == want[i]) continue;
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return size == 0 ? std::sqrt(difference) : std::sqrt(difference / size);
}
// ‖got − want‖ / ‖want‖, whatever the size of `want`. NaN if a value is NaN, or if both are 0.
inline double relative_distance(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(difference / size);
}
inline double relative_distance(const Tensor& got, const Tensor& want) {
  return relative_distance(got.to_vector(), want.to_vector());
}
// The largest difference, relative to the largest expected value; NaN if a difference is.
inline double relative_maximum(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  double difference = 0, size = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i] - want[i])) return got[i] - want[i];
    difference = std::max(difference, std::abs(got[i] - want[i]));
    size = std::max(size, std::abs(want[i]));
  }
  return difference / size;
}
inline double relative_maximum(const Tensor& got, const Tensor& want) {
  return relative_maximum(got.to_vector(), want.to_vector());
}
// The largest difference of two elements; NaN if a difference is.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i] - b[i])) return a[i] - b[i];
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  return largest;
}
inline double largest_difference(const Tensor& a, const Tensor& b) {
  REQUIRE(a.shape() == b.shape());
  return largest_difference(a.to_vector(), b.to_vector());
}

// The same shapes and values: 0 equals -0, and NaN equals nothing.
inline bool equal_values(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector() == b.to_vector();
}
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}
inline bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.defined() != b.defined()) return false;
  if (!a.defined()) return true;
  const Tensor x = a.to(Device{}).contiguous_copy(), y = b.to(Device{}).contiguous_copy();
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         (bytes == 0 || std::memcmp(x.view().data, y.view().data, bytes) == 0);
}

// All values of named tensors, such as a module's state, in their order.
inline std::vector<double> values_of(const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::vector<double> all;
  for (const auto& [name, tensor] : tensors) {
    const std::vector<double> values = tensor.to_vector();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

}  // namespace pg::testing

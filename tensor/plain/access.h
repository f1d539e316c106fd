#pragma once
// The plain backend: every kernel of tensor/kernels.def as loops over indices, with arithmetic in double and one
// rounding at the end. It is the definition of each kernel: read it first, and test the fast backends against it. It
// uses one thread, and a training step takes 20 times as long as on the CPU's own backend, or more.
// This file is how it reads and writes elements: one at a time, as doubles. The type of a tensor matters here only.
#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/kernels.h"

namespace pg::plain {

#define KERNEL(name, parameters) void name parameters;
#include "tensor/kernels.def"

// The element of x at an offset in elements, as a double.
inline double get(const View& x, int64_t offset) {
  return visit(x.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, BFloat16>) {
      return static_cast<double>(static_cast<float>(x.as<const T>()[offset]));
    } else {
      return static_cast<double>(x.as<const T>()[offset]);
    }
  });
}
// Rounds `value` to the type of y, to bf16 by way of f32: the only rounding of a kernel. Integers are clamped to their
// range, and NaN is 0.
inline void put(const View& y, int64_t offset, double value) {
  visit(y.dtype, [&]<class T>(std::type_identity<T>) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>) {
      value = value != value ? 0 : std::clamp<double>(value, Limits::min(), Limits::max());
    }
    y.as<T>()[offset] = static_cast<T>(value);
  });
}
// y = beta·y + value; with beta 0, y is not read.
inline void add(const View& y, int64_t offset, double value, double beta) {
  put(y, offset, beta == 0 ? value : beta * get(y, offset) + value);
}

// The offset of x[i, j, …] from the element with all indices 0. The indices are arguments or Dims.
template <class... I>
int64_t at(const View& x, I... i) {
  int64_t offset = 0;
  int d = 0;
  ((offset += static_cast<int64_t>(i) * x.strides[d++]), ...);
  return offset;
}
inline int64_t at(const View& x, const Dims& i) {
  int64_t offset = 0;
  for (int d = 0; d < i.rank(); ++d) offset += i[d] * x.strides[d];
  return offset;
}
// The value of the element x[i, j, …].
template <class... I>
double of(const View& x, const I&... i) {
  return get(x, at(x, i...));
}
// The offset of value r of a view that has one value for each row of another tensor. The view has rank 1, or is
// contiguous.
inline int64_t at_row(const View& x, int64_t r) { return x.rank() == 1 ? r * x.strides[0] : r; }
inline double of_row(const View& x, int64_t r) { return get(x, at_row(x, r)); }

// Calls f(index) for every index of a shape, the last dimension fastest.
template <class F>
void each(const Shape& shape, F f) {
  Dims i = Dims::filled(shape.rank(), 0);
  for (int64_t n = numel(shape); n > 0; --n) {
    f(i);
    for (int d = shape.rank() - 1; d >= 0 && ++i[d] == shape[d]; --d) i[d] = 0;
  }
}

// The lines of a tensor along its last dimension. A line is read whole before it is written, so a result may share
// memory with an argument.
class Lines {
 public:
  explicit Lines(const View& x) : x_(x), size_(x.shape.back()), step_(x.strides.back()) {
    Shape outer = x.shape;
    outer.erase(x.rank() - 1);
    each(outer, [&](const Dims& i) { starts_.push_back(plain::at(x, i)); });
  }
  int64_t count() const { return static_cast<int64_t>(starts_.size()); }
  int64_t size() const { return size_; }
  int64_t at(int64_t line, int64_t i) const { return starts_[static_cast<size_t>(line)] + i * step_; }
  std::vector<double> read(int64_t line) const {
    std::vector<double> values(static_cast<size_t>(size_));
    for (int64_t i = 0; i < size_; ++i) values[static_cast<size_t>(i)] = get(x_, at(line, i));
    return values;
  }
  // line = beta·line + values
  void write(int64_t line, const std::vector<double>& values, double beta = 0) const {
    for (int64_t i = 0; i < size_; ++i) add(x_, at(line, i), values[static_cast<size_t>(i)], beta);
  }

 private:
  View x_;
  int64_t size_, step_;
  std::vector<int64_t> starts_;
};

// A contiguous tensor of doubles in the shape of y, for sums whose terms come in any order; y gets them at the end.
class Sums {
 public:
  explicit Sums(const View& y, double start = 0) : values_(static_cast<size_t>(y.numel()), start), y_(y) {
    view_ = {values_.data(), f64, y.shape, contiguous_strides(y.shape)};
  }
  template <class... I>
  double& operator()(const I&... i) {
    return values_[static_cast<size_t>(at(view_, i...))];
  }
  // y = beta·y + sums / divisor
  void write(double beta, double divisor = 1) const {
    each(y_.shape, [&](const Dims& i) { add(y_, at(y_, i), of(view_, i) / divisor, beta); });
  }

 private:
  std::vector<double> values_;
  View y_, view_;
};

}  // namespace pg::plain

#pragma once
// Sizes and strides of at most six dimensions, stored inline. Strides count elements.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "tensor/error.h"

namespace pg {

inline constexpr int kMaxDims = 6;

// A short list of int64: used for sizes (Shape) and steps (Strides).
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  Dims(const std::vector<int64_t>& values) : Dims(std::span<const int64_t>(values)) {}
  explicit Dims(std::span<const int64_t> values) {
    check(values.size() <= kMaxDims, "shape: at most {} dimensions, got {}", kMaxDims, values.size());
    rank_ = static_cast<int>(values.size());
    std::copy(values.begin(), values.end(), v_);
  }
  static Dims filled(int rank, int64_t value) {
    Dims d;
    check(rank <= kMaxDims, "shape: at most {} dimensions, got {}", kMaxDims, rank);
    d.rank_ = rank;
    std::fill_n(d.v_, rank, value);
    return d;
  }

  int rank() const { return rank_; }
  int64_t operator[](int i) const { return v_[i]; }
  int64_t& operator[](int i) { return v_[i]; }
  int64_t back() const { return v_[rank_ - 1]; }
  const int64_t* begin() const { return v_; }
  const int64_t* end() const { return v_ + rank_; }
  void push_back(int64_t value) {
    check(rank_ < kMaxDims, "shape: at most {} dimensions", kMaxDims);
    v_[rank_++] = value;
  }
  void insert(int at, int64_t value) {
    push_back(value);
    std::rotate(v_ + at, v_ + rank_ - 1, v_ + rank_);
  }
  void erase(int at) {
    std::copy(v_ + at + 1, v_ + rank_, v_ + at);
    --rank_;
  }
  bool operator==(const Dims& other) const {
    if (rank_ != other.rank_) return false;
    for (int i = 0; i < rank_; ++i) {
      if (v_[i] != other.v_[i]) return false;
    }
    return true;
  }

 private:
  int rank_ = 0;
  int64_t v_[kMaxDims] = {};
};
using Shape = Dims;
using Strides = Dims;

// Number of elements; 1 for rank 0.
inline int64_t numel(const Shape& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}
// Row-major steps.
inline Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}
bool is_contiguous(const Shape& shape, const Strides& strides);
// NumPy's rule: align right, sizes equal or 1. Error naming `op` when they don't fit.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);
// Strides that read a tensor of shape `from` as if it had shape `to`: 0 where a size of 1 is repeated.
Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to, const char* op);
// Negative counts from the end; Error naming `op` outside [-rank, rank).
inline int normalize_dim(int dim, int rank, const char* op) {
  check(dim >= -rank && dim < rank, "{}: dim {} is out of range for {} dimensions", op, dim, rank);
  return dim < 0 ? dim + rank : dim;
}

}  // namespace pg

template <>
struct fmt::formatter<pg::Dims> : fmt::formatter<fmt::string_view> {
  auto format(const pg::Dims& dims, fmt::format_context& context) const {
    std::string text = "[";
    for (int i = 0; i < dims.rank(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
    return fmt::formatter<fmt::string_view>::format(text + "]", context);
  }
};

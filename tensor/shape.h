#pragma once
// Sizes and strides of at most six dimensions, stored inline. The rank is the number of dimensions. A stride counts
// elements: [2, 3] in row-major order has strides [3, 1], so element [i, j] is at 3·i + j. Its transpose has the shape
// [3, 2] and the strides [1, 3] on the same memory. A stride of 0 repeats an element. Where a comment says Error, the
// function throws pg::Error (tensor/base/error.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace pg {

inline constexpr int kMaxDims = 6;

namespace detail {
[[noreturn]] void fail_rank(int64_t rank);
[[noreturn]] void fail_dim(int dim, int rank, const char* op);
}  // namespace detail

// A short list of int64: used for sizes (Shape) and strides (Strides).
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  Dims(const std::vector<int64_t>& values) : Dims(std::span<const int64_t>(values)) {}
  explicit Dims(std::span<const int64_t> values) {
    if (values.size() > kMaxDims) detail::fail_rank(static_cast<int64_t>(values.size()));
    rank_ = static_cast<int>(values.size());
    std::copy(values.begin(), values.end(), v_);
  }
  static Dims filled(int rank, int64_t value) {
    Dims d;
    if (rank > kMaxDims) detail::fail_rank(rank);
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
    if (rank_ == kMaxDims) detail::fail_rank(rank_ + 1);
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
  bool operator==(const Dims& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  int rank_ = 0;
  int64_t v_[kMaxDims] = {};
};
using Shape = Dims;
using Strides = Dims;

// Number of elements; 1 for rank 0. The sizes must have passed checked_numel() once.
inline int64_t numel(const Shape& shape) {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}
// numel() for sizes that a caller chose. Error naming `op` if a size is negative, or if the number of elements or of
// bytes (element_bytes per element) does not fit in an int64. Sizes of 0 count as 1 in this check, because a stride is
// a product of sizes too.
int64_t checked_numel(const Shape& shape, const char* op, size_t element_bytes = 1);
// Row-major strides.
inline Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}
// Whether the elements follow one another in row-major order; true for a shape without elements.
bool is_contiguous(const Shape& shape, const Strides& strides);
// NumPy's broadcasting rule: dimensions are aligned at the right, and missing ones count as 1. Two sizes must be equal,
// or one of them 1; the result has the larger one. Error naming `op` when they don't fit.
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);
// Strides that read a tensor of shape `from` as if it had shape `to`: 0 where a size of 1 is repeated.
Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to, const char* op);
// A negative dim counts from the end; Error naming `op` outside [-rank, rank).
inline int normalize_dim(int dim, int rank, const char* op) {
  if (dim < -rank || dim >= rank) [[unlikely]]
    detail::fail_dim(dim, rank, op);
  return dim < 0 ? dim + rank : dim;
}

// Elements [begin, end).
struct Shard {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

}  // namespace pg

// Shapes, strides and broadcasting.
#include "tensor/shape.h"

#include "tensor/format.h"

namespace pg {

void detail::fail_rank(int64_t rank) { fail("shape: at most {} dimensions, got {}", kMaxDims, rank); }
void detail::fail_dim(int dim, int rank, const char* op) {
  fail("{}: dim {} is out of range for {} dimensions", op, dim, rank);
}
void fail_floating(const char* op, DType type) {
  fail("{}: expected f32, f64 or bf16, got {}; convert with to(f32)", op, type);
}

int64_t checked_numel(const Shape& shape, const char* op, size_t element_bytes) {
  int64_t bytes = static_cast<int64_t>(element_bytes);
  bool empty = false;
  for (int64_t size : shape) {
    check(size >= 0, "{}: invalid size {} in shape {}", op, size, shape);
    empty = empty || size == 0;
    check(!__builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes),
          "{}: shape {} is too large: its elements cannot be counted in 64 bits", op, shape);
  }
  return empty ? 0 : bytes / static_cast<int64_t>(element_bytes);
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  int64_t expected = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return numel(shape) == 0;
    expected *= shape[i];
  }
  return true;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1;
    const int64_t y = i <= b.rank() ? b[b.rank() - i] : 1;
    check(x == y || x == 1 || y == 1, "{}: shapes {} and {} do not broadcast: {} vs {} in dim {} from the end", op, a,
          b, x, y, i);
    result[rank - i] = x == 1 ? y : x;
  }
  checked_numel(result, op);
  return result;
}

Strides broadcast_strides(const Shape& from, const Strides& strides, const Shape& to, const char* op) {
  check(from.rank() <= to.rank(), "{}: cannot expand {} to {}: fewer dimensions", op, from, to);
  Strides result = Dims::filled(to.rank(), 0);
  const int shift = to.rank() - from.rank();
  for (int i = 0; i < from.rank(); ++i) {
    check(from[i] == to[i + shift] || from[i] == 1, "{}: cannot expand {} to {}: {} vs {} in dim {}", op, from, to,
          from[i], to[i + shift], i);
    result[i + shift] = from[i] == to[i + shift] ? strides[i] : 0;
  }
  return result;
}

}  // namespace pg

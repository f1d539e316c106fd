// Lesson 1: tensors. This is your file: replace each TODO(...), then:
//   make lesson1 && ./lesson1 check
//
// Useful: shape.rank(), shape[d], numel(shape); Dims::filled(rank, value);
// check(condition, "text {}", value); normalize_dim(dim, rank, "name") turns -1
// into the last dimension and refuses a dim that does not exist. For a View x:
// x.as<float>() is the address of its first element, x.shape[0] its first size.
// More is in tensor/tensor.h, tensor/shape.h, tensor/view.h and
// tensor/base/error.h (check, fail). The engine has a broadcast_shapes, too: to
// call yours, write lesson01::broadcast_shapes(...).
#include "lessons/01_tensors/lesson.h"

namespace pg::lesson01 {

// The view of x with two dimensions exchanged. No element moves: the result
// shares x's storage. A dim may count from the end (-1: the last one); one that
// does not exist is an error, which normalize_dim gives. Make it with
// Tensor::view_of(storage, offset, shape, strides, dtype); x has a getter for
// each of the five.
Tensor view_transpose(const Tensor& x, int dim0, int dim1) {
  // [answer 01.1 view_transpose]
  const int a = normalize_dim(dim0, x.rank(), "transpose"), b = normalize_dim(dim1, x.rank(), "transpose");
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return Tensor::view_of(x.storage(), x.offset(), shape, strides, x.dtype());
  // [end]
}

// The shape of a + b. Shapes are aligned at their last dimension; two sizes fit
// when they are equal or one of them is 1; a missing size counts as 1. When
// they don't fit: fail("{}: shapes {} and {} do not broadcast", op, a, b).
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  // [answer 01.2 broadcast_shapes]
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Dims::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a.rank()), ib = i - (rank - b.rank());
    const int64_t x = ia >= 0 ? a[ia] : 1, y = ib >= 0 ? b[ib] : 1;
    if (x != y && x != 1 && y != 1) fail("{}: shapes {} and {} do not broadcast", op, a, b);
    result[i] = x == 1 ? y : x;
  }
  return result;
  // [end]
}

// The position of element n in memory, in elements from the view's first. n
// counts row by row: the last index runs fastest.
int64_t offset_of(int64_t n, const Shape& shape, const Strides& strides) {
  // [answer 01.3 offset_of]
  int64_t offset = 0;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    offset += n % shape[d] * strides[d];
    n /= shape[d];
  }
  return offset;
  // [end]
}

// c [M, N] = a [M, K] · b [K, N]; all f32 and contiguous, of any sizes. c holds
// anything at first. Loop over blocks of b (64 rows, 256 columns), so that a
// block is used for all rows of a while it is in the cache. Let the innermost
// loop run along a row of b and of c: the compiler turns that loop into vector
// instructions. Element [i, j] of c is c.as<float>()[i * c.shape[1] + j].
void matmul(View c, View a, View b) {
  // [answer 01.4 matmul]
  const int64_t M = c.shape[0], N = c.shape[1], K = a.shape[1], block = 64;
  float* pc = c.as<float>();
  const float *pa = a.as<float>(), *pb = b.as<float>();
  std::fill(pc, pc + M * N, 0.0f);
  for (int64_t k0 = 0; k0 < K; k0 += block) {
    for (int64_t j0 = 0; j0 < N; j0 += 4 * block) {
      const int64_t k1 = std::min(k0 + block, K), j1 = std::min(j0 + 4 * block, N);
      for (int64_t i = 0; i < M; ++i) {
        for (int64_t k = k0; k < k1; ++k) {
          for (int64_t j = j0; j < j1; ++j) pc[i * N + j] += pa[i * K + k] * pb[k * N + j];
        }
      }
    }
  }
  // [end]
}

}  // namespace pg::lesson01

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
  // Yours, in place of the next line.
  TODO("01.1 view_transpose");
}

// The shape of a + b. Shapes are aligned at their last dimension; two sizes fit
// when they are equal or one of them is 1; a missing size counts as 1. When
// they don't fit: fail("{}: shapes {} and {} do not broadcast", op, a, b).
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  // Yours, in place of the next line.
  TODO("01.2 broadcast_shapes");
}

// The position of element n in memory, in elements from the view's first. n
// counts row by row: the last index runs fastest.
int64_t offset_of(int64_t n, const Shape& shape, const Strides& strides) {
  // Yours, in place of the next line.
  TODO("01.3 offset_of");
}

// c [M, N] = a [M, K] · b [K, N]; all f32 and contiguous, of any sizes. c holds
// anything at first. Loop over blocks of b (64 rows, 256 columns), so that a
// block is used for all rows of a while it is in the cache. Let the innermost
// loop run along a row of b and of c: the compiler turns that loop into vector
// instructions. Element [i, j] of c is c.as<float>()[i * c.shape[1] + j].
void matmul(View c, View a, View b) {
  // Yours, in place of the next line.
  TODO("01.4 matmul");
}

}  // namespace pg::lesson01

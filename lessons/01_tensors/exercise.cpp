// Lesson 1: tensors. This is your file: replace each TODO(...), then: make lesson1 && ./lesson1 check
//
// Useful: shape.rank(), shape[d], numel(shape); Dims::filled(rank, value); check(condition, "text {}", value);
// normalize_dim(dim, rank, "name") turns -1 into the last dimension.
#include "lessons/01_tensors/lesson.h"

namespace pg::lesson01 {

// The view of x with two dimensions exchanged. Not a single number moves: the result shares x's storage.
// Make it with Tensor::view_of(storage, offset, shape, strides, dtype); x has a getter for each of the five.
Tensor view_transpose(const Tensor& x, int dim0, int dim1) {
  // Yours, in place of the next line.
  TODO("01.1 view_transpose");
}

// The shape of a + b. Shapes are aligned at their last dimension; two sizes fit when they are equal or one of them
// is 1; a missing size counts as 1. When they don't fit: fail("{}: shapes {} and {} do not broadcast", op, a, b).
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  // Yours, in place of the next line.
  TODO("01.2 broadcast_shapes");
}

// Where element n lies, in elements from the view's first. n counts in row-major order: the last index runs fastest.
int64_t offset_of(int64_t n, const Shape& shape, const Strides& strides) {
  // Yours, in place of the next line.
  TODO("01.3 offset_of");
}

// c [M, N] = a [M, K] · b [K, N]; all f32 and contiguous, sizes any. c holds garbage at first.
// Walk in blocks (32 to 128 wide) so that a piece of b is used for many rows while it is still in the cache, and let
// the innermost loop run along a row of b and of c: that is the loop the compiler turns into vector instructions.
void matmul(View c, View a, View b) {
  // Yours, in place of the next line.
  TODO("01.4 matmul");
}

}  // namespace pg::lesson01

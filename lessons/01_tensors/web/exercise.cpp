// The pieces of lesson 1 in a browser: each calls the learner's JavaScript. The matrix product is compared with a loop
// of C++ in speed, which no other language can answer.
#include "lessons/01_tensors/lesson.h"
#include "tools/web/engine.h"

namespace pg::web {

const Offer kNormalizeDim(
    "normalize_dim", {"dim", "rank", "name"},
    +[](int dim, int rank, std::string name) { return normalize_dim(dim, rank, name.c_str()); });
const Offer kStrides(
    "strides", {"x"}, +[](const Tensor& x) { return x.strides(); });
const Offer kOffset(
    "offset", {"x"}, +[](const Tensor& x) { return x.offset(); });
const Offer kViewOf(
    "view_of", {"x", "offset", "shape", "strides"},
    +[](const Tensor& x, int64_t offset, const Shape& shape, const Strides& strides) {
      return Tensor::view_of(x.storage(), offset, shape, strides, x.dtype());
    });

}  // namespace pg::web

namespace pg::lesson01 {
using web::call;

Tensor view_transpose(const Tensor& x, int dim0, int dim1) { return call<Tensor>("view_transpose", x, dim0, dim1); }
Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  return call<Shape>("broadcast_shapes", a, b, op);
}
int64_t offset_of(int64_t n, const Shape& shape, const Strides& strides) {
  return call<int64_t>("offset_of", n, shape, strides);
}
void matmul(View, View, View) { TODO("01.4 matmul"); }

}  // namespace pg::lesson01

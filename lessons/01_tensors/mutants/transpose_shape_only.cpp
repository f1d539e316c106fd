// check: 01.1  says: the strides are not
#define MUTANT_view_transpose
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

Tensor view_transpose(const Tensor& x, int dim0, int dim1) {
  const int a = normalize_dim(dim0, x.rank(), "transpose"), b = normalize_dim(dim1, x.rank(), "transpose");
  Shape shape = x.shape();
  std::swap(shape[a], shape[b]);
  return Tensor::view_of(x.storage(), x.offset(), shape, x.strides(), x.dtype());
}

}  // namespace pg::lesson01

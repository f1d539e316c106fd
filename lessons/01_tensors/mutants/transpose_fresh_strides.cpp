// check: 01.1  says: strides of a fresh copy
#define MUTANT_view_transpose
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

Tensor view_transpose(const Tensor& x, int dim0, int dim1) {
  const int a = normalize_dim(dim0, x.rank(), "transpose"), b = normalize_dim(dim1, x.rank(), "transpose");
  Shape shape = x.shape();
  std::swap(shape[a], shape[b]);
  return Tensor::view_of(x.storage(), x.offset(), shape, contiguous_strides(shape), x.dtype());
}

}  // namespace pg::lesson01

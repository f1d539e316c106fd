// check: 01.1  says: a view shares its storage
#define MUTANT_view_transpose
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

Tensor view_transpose(const Tensor& x, int dim0, int dim1) {
  const Tensor copy = x.clone();
  return copy.view_transpose(dim0, dim1);
}

}  // namespace pg::lesson01

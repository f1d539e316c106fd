// check: 01.3  says: the first index runs fastest
#define MUTANT_offset_of
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

int64_t offset_of(int64_t n, const Shape& shape, const Strides& strides) {
  int64_t offset = 0;
  for (int d = 0; d < shape.rank(); ++d) {
    offset += n % shape[d] * strides[d];
    n /= shape[d];
  }
  return offset;
}

}  // namespace pg::lesson01

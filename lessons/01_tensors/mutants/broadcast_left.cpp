// check: 01.2  says: aligned at the last dimension
#define MUTANT_broadcast_shapes
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Dims::filled(rank, 1);
  for (int i = 0; i < rank; ++i) {
    const int64_t x = i < a.rank() ? a[i] : 1, y = i < b.rank() ? b[i] : 1;
    if (a.rank() == b.rank() && x != y && x != 1 && y != 1) fail("{}: {} and {} do not broadcast", op, a, b);
    result[i] = std::max(x, y);
  }
  return result;
}

}  // namespace pg::lesson01

// check: 01.2  says: refuse what cannot be right
#define MUTANT_broadcast_shapes
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

Shape broadcast_shapes(const Shape& a, const Shape& b, const char*) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const int64_t x = i <= a.rank() ? a[a.rank() - i] : 1, y = i <= b.rank() ? b[b.rank() - i] : 1;
    result[rank - i] = x == 1 ? y : x;
  }
  return result;
}

}  // namespace pg::lesson01

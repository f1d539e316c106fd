// check: 01.3  says: this is n itself
#define MUTANT_offset_of
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

int64_t offset_of(int64_t n, const Shape&, const Strides&) { return n; }

}  // namespace pg::lesson01

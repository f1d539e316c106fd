// check: 01.4  says: as slow as the naive loop  needs: speed
#define MUTANT_matmul
#include "lessons/01_tensors/mutants/answers.h"

namespace pg::lesson01 {

void matmul(View c, View a, View b) { matmul_naive(c, a, b); }

}  // namespace pg::lesson01

// check: 11.5  says: lanes want words of one bank  needs: simulator
#define MUTANT_slot
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

__device__ int slot(int row, int column) { return row * kSquare + column; }

}  // namespace pg::lesson11

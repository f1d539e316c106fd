// check: 11.5  says: an index outside of its memory  needs: simulator
#define MUTANT_slot
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

__device__ int slot(int row, int column) { return row * (kSquare + 2) + column; }

}  // namespace pg::lesson11

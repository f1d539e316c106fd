// check: 11.5  says: two threads use the same memory  needs: simulator
#define MUTANT_slot
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

__device__ int slot(int row, int column) { return row * (kSquare - 1) + column; }

}  // namespace pg::lesson11

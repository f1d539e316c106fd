// check: 11.1  says: the 32 lanes of a warp are far apart  needs: simulator
#define MUTANT_grid
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

unsigned blocks_for(int64_t n) {
  return static_cast<unsigned>(std::clamp<int64_t>((n + kThreads - 1) / kThreads, 1, 4096));
}
__device__ int64_t first_index() { return int64_t{threadIdx.x} * gridDim.x + blockIdx.x; }
__device__ int64_t index_step() { return int64_t{gridDim.x} * blockDim.x; }

}  // namespace pg::lesson11

// check: 11.1  says: at least 1 block
#define MUTANT_grid
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

unsigned blocks_for(int64_t n) { return static_cast<unsigned>(std::min<int64_t>((n + kThreads - 1) / kThreads, 4096)); }
__device__ int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ int64_t index_step() { return int64_t{gridDim.x} * blockDim.x; }

}  // namespace pg::lesson11

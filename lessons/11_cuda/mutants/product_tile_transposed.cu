// check: 11.3  says: both tiles are loaded transposed  needs: simulator
#define MUTANT_add_product
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

__device__ void add_product(float (&sums)[kN][kN], Slice& left, Slice& right, Operand a, Operand b, int64_t k) {
  const auto stage = [&](Slice& to, const Operand& from, int64_t first) {
    for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
      const int r = from.depth_step == 1 ? i / kDepth : i % kTile;
      const int d = from.depth_step == 1 ? i % kDepth : i / kTile;
      to[d][r] = r < from.rows && first + d < k ? from.data[r * from.depth_step + (first + d) * from.row_step] : 0.0f;
    }
  };
  for (int64_t first = 0; first < k; first += kDepth) {
    stage(left, a, first);
    stage(right, b, first);
    __syncthreads();
    cuda::multiply<kTile>(sums, left, right);
    __syncthreads();
  }
}

}  // namespace pg::lesson11

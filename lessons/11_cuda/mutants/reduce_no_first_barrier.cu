// check: 11.2  says: between writing and reading  needs: simulator
#define MUTANT_reduce
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

template <int kSize, class T, class F>
__device__ T reduce(T x, F f) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, step));
  if constexpr (kSize > kWarp) {
    __shared__ T parts[kSize / kWarp];
    if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
    x = parts[0];
    for (int i = 1; i < kSize / kWarp; ++i) x = f(x, parts[i]);
    __syncthreads();
  }
  return x;
}

}  // namespace pg::lesson11

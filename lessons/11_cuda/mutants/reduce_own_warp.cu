// check: 11.2  says: each warp has its own result
#define MUTANT_reduce
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

template <int kSize, class T, class F>
__device__ T reduce(T x, F f) {
  for (int step = kWarp / 2; step > 0; step /= 2) x = f(x, __shfl_xor_sync(0xffffffffu, x, step));
  return x;
}

}  // namespace pg::lesson11

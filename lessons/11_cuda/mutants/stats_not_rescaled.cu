// check: 11.4  says: not rescaled when the maximum grows
#define MUTANT_row_stats
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

__device__ RowStats row_stats(const float* x, int64_t n) {
  float top = kLowest, sum = 0;
  for (int64_t i = Team::rank(); i < n; i += kWarp) {
    if (x[i] == kLowest) continue;
    if (x[i] > top) {
      top = x[i];
    }
    sum += ::expf(x[i] - top);
  }
  const float max = Team::reduce(top, Max{});
  sum *= ::expf(top - max);
  return {max, Team::reduce(sum, Plus{})};
}

}  // namespace pg::lesson11

// check: 11.4  says: the lanes are far apart  needs: simulator
#define MUTANT_row_stats
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

__device__ RowStats row_stats(const float* x, int64_t n) {
  float top = kLowest, sum = 0;
  const int64_t each = (n + kWarp - 1) / kWarp, begin = Team::rank() * each, end = begin + each < n ? begin + each : n;
  for (int64_t i = begin; i < end; ++i) {
    if (x[i] == kLowest) continue;
    if (x[i] > top) {
      sum *= ::expf(top - x[i]);
      top = x[i];
    }
    sum += ::expf(x[i] - top);
  }
  const float max = Team::reduce(top, Max{});
  sum *= ::expf(top - max);
  return {max, Team::reduce(sum, Plus{})};
}

}  // namespace pg::lesson11

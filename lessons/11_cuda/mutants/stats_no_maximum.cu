// check: 11.4  says: subtract the maximum
#define MUTANT_row_stats
#include "lessons/11_cuda/answers.h"

namespace pg::lesson11 {

__device__ RowStats row_stats(const float* x, int64_t n) {
  float top = kLowest, sum = 0;
  for (int64_t i = Team::rank(); i < n; i += kWarp) {
    top = Max{}(top, x[i]);
    sum += ::expf(x[i]);
  }
  return {Team::reduce(top, Max{}), Team::reduce(sum, Plus{})};
}

}  // namespace pg::lesson11

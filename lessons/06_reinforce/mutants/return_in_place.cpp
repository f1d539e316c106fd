// check: 06.3  says: work on a clone
#define MUTANT_return_to_go
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor return_to_go(const Tensor& rewards, double gamma) {
  const Tensor result = rewards;
  const auto g = result.data<double>();
  const int64_t steps = rewards.size(1);
  for (int64_t b = 0; b < rewards.size(0); ++b) {
    for (int64_t t = steps - 2; t >= 0; --t) {
      const size_t at = static_cast<size_t>(b * steps + t);
      g[at] += gamma * g[at + 1];
    }
  }
  return result;
}

}  // namespace pg::lesson06

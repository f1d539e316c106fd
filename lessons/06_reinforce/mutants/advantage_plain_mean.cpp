// check: 06.4  says: older ones should count less
#define MUTANT_advantage
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor advantage(Baseline& baseline, const Tensor& returns) {
  const Tensor result = returns.detach() - (baseline.weight > 0 ? baseline.sum / baseline.weight : 0.0);
  baseline.sum = baseline.sum + mean(returns.detach()).item();
  baseline.weight = baseline.weight + 1;
  return result;
}

}  // namespace pg::lesson06

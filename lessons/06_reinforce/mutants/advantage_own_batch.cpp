// check: 06.4  says: in its own baseline
#define MUTANT_advantage
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor advantage(Baseline& baseline, const Tensor& returns) {
  baseline.sum = baseline.decay * baseline.sum + mean(returns.detach()).item();
  baseline.weight = baseline.decay * baseline.weight + 1;
  return returns.detach() - baseline.sum / baseline.weight;
}

}  // namespace pg::lesson06

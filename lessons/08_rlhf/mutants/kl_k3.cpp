// check: 08.4  says: this is k3
#define MUTANT_subtract_kl
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void subtract_kl(Response& response, double beta) {
  for (size_t t = 0; t < response.tokens.size(); ++t) {
    if (!response.chosen[t]) continue;
    const double d = response.ref_log_probs[t] - response.old_log_probs[t];
    response.rewards[t] -= beta * (std::expm1(d) - d);
  }
}

}  // namespace pg::lesson08

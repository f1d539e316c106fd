// check: 08.4  says: take the KL off it
#define MUTANT_subtract_kl
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void subtract_kl(Response& response, double beta) {
  for (size_t t = 0; t < response.tokens.size(); ++t) {
    if (!response.chosen[t]) continue;
    response.rewards[t] = -beta * (response.old_log_probs[t] - response.ref_log_probs[t]);
  }
}

}  // namespace pg::lesson08

// check: 08.4  says: each token should pay for itself
#define MUTANT_subtract_kl
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void subtract_kl(Response& response, double beta) {
  double sum = 0;
  for (size_t t = 0; t < response.tokens.size(); ++t) {
    if (response.chosen[t]) sum += response.old_log_probs[t] - response.ref_log_probs[t];
  }
  response.rewards[rl::last_chosen(response)] -= beta * sum;
}

}  // namespace pg::lesson08

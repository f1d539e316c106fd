// check: 08.4  says: free to leave
#define MUTANT_subtract_kl
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void subtract_kl(Response& response, double beta) {
  const size_t t = rl::last_chosen(response);
  response.rewards[t] -= beta * (response.old_log_probs[t] - response.ref_log_probs[t]);
}

}  // namespace pg::lesson08

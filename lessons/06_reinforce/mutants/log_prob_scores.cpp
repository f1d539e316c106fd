// check: 06.1  says: log-sum-exp
#define MUTANT_token_log_prob
#include "lessons/06_reinforce/mutants/answers.h"

namespace pg::lesson06 {

Tensor token_log_prob(const Tensor& logits, const Tensor& ids) {
  return squeeze(gather(logits, 1, unsqueeze(ids, 1)), 1);
}

}  // namespace pg::lesson06

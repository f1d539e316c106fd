// check: 08.5  says: take that of the targets
#define MUTANT_sequence_log_probs
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

Tensor sequence_log_probs(const Gpt2& policy, std::span<const Response* const> responses) {
  const rl::TokenRows rows = rl::token_rows(responses);
  const Tensor all = log_softmax(policy(rows.ids));
  const Tensor log_prob = squeeze(gather(all, 2, unsqueeze(rows.ids, 2)), 2);
  return sum(where(rows.mask, log_prob, Tensor::scalar(0, log_prob.dtype())), {1});
}

}  // namespace pg::lesson08

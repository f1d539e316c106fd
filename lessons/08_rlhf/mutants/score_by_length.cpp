// check: 08.3  says: short responses pay
#define MUTANT_set_rewards
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void set_rewards(Response& response) {
  const auto length = static_cast<double>(response.length());
  response.rewards.assign(response.tokens.size(), 0);
  response.rewards[rl::last_chosen(response)] = response.score.reward / length;
}

}  // namespace pg::lesson08

// check: 08.3  says: is a choice as well
#define MUTANT_set_rewards
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void set_rewards(Response& response) {
  response.rewards.assign(response.tokens.size(), 0);
  response.rewards[std::max<size_t>(rl::last_chosen(response), 1) - 1] = response.score.reward;
}

}  // namespace pg::lesson08

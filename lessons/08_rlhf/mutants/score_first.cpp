// check: 08.3  says: return-to-go
#define MUTANT_set_rewards
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void set_rewards(Response& response) {
  response.rewards.assign(response.tokens.size(), 0);
  response.rewards[0] = response.score.reward;
}

}  // namespace pg::lesson08

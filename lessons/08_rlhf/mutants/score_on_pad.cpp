// check: 08.3  says: on padding
#define MUTANT_set_rewards
#include "lessons/08_rlhf/mutants/answers.h"

namespace pg::lesson08 {

void set_rewards(Response& response) {
  response.rewards.assign(response.tokens.size() + 1, 0);
  response.rewards[response.tokens.size()] = response.score.reward;
}

}  // namespace pg::lesson08

// Names and hints of the checks of lesson 7, and the engine's own function.
#include "lessons/07_gae/checks.h"

namespace pg::lesson07 {

std::vector<kit::Check<Impl>> checks() {
  const auto gae_piece = kit::piece<&Impl::gae>("gae");
  const kit::Source gae_source{"rl/advantages.cpp", "Gae gae("};
  return {
      {.id = "07.1",
       .title = "GAE inside an episode",
       .piece = gae_piece,
       .section = "A sum of surprises",
       .why = "Both losses of PPO use these numbers. lambda trades the variance of the return for the errors of the "
              "critic.",
       .hints = {"You know A of the step after. What does this step add, and by what is the rest discounted?",
                 "delta[t] = r[t] + gamma·V[t+1] - V[t]; A[t] = delta[t] + gamma·lambda·A[t+1]; returns = A + V.",
                 "Per row: next = next_values[b], after = 0. From the last t down: after = r + gamma·next - v + "
                 "gamma·lambda·after; store it as A, A + v as the return; next = v."},
       .solution = gae_source,
       .run = check_gae,
       .harmless = {{"detached", "advantages and returns are targets: no gradient passes through them"},
                    {{"rank 0", "rank 4"}, "rewards are [B, T], next_values [B]"}}},
      {.id = "07.2",
       .title = "an episode ends",
       .piece = gae_piece,
       .section = "Two ways for an episode to stop",
       .why = "After the end the row continues with another episode. With a flag one step late, or a value from after "
              "the end, a policy still learns something, so such a bug stays unnoticed.",
       .hints =
           {"The pole has fallen at step t. Which rewards can this episode still bring? Of which episode is V[t+1]?",
            "terminated[t] = 1: next = 0 and A[t+1] is not used: A[t] = r[t] - V[t].",
            "In the loop, before delta: if terminated[i], set next = 0 and after = 0."},
       .solution = gae_source,
       .run = check_termination},
      {.id = "07.3",
       .title = "an episode is truncated",
       .piece = gae_piece,
       .section = "Two ways for an episode to stop",
       .why = "A pole that is upright at step 500 would have stayed upright. If truncation is treated as an end, the "
              "targets of the critic are too low, and no observation explains why.",
       .hints = {"The time limit is reached and the pole is still upright. Which rewards would have followed? Of which "
                 "state is V needed?",
                 "truncated[t] = 1: A[t] = r[t] + gamma·final_values[t] - V[t]. With terminated[t] = 1 as well: r - V.",
                 "Before delta: if truncated[i], next = final_values[i], after = 0. After that, because a termination "
                 "has priority: if terminated[i], next = after = 0."},
       .solution = gae_source,
       .run = check_truncation},
      {.id = "07.4",
       .title = "masked slots",
       .piece = gae_piece,
       .section = "Two ways for an episode to stop",
       .why = "Rows of text have slots that the policy did not write: padding and the results of tools. Lesson 8 needs "
              "this. V at such a slot may be anything.",
       .hints = {"If the slot were removed from the row, which slot would come after the one before it?",
                 "With slot 1 masked: delta[0] = r[0] + gamma·V[2] - V[0], A[0] = delta[0] + gamma·lambda·A[2].",
                 "At the start of the loop: if mask[i] is 0, continue. next and after keep their values."},
       .solution = gae_source,
       .run = check_mask},
  };
}

Impl reference() { return {.gae = rl::gae}; }

}  // namespace pg::lesson07

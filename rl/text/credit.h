#pragma once
// From rewards to advantages, as an algorithm's credit and baseline say.
#include "rl/advantages.h"
#include "rl/algorithm.h"
#include "rl/text/experience.h"

namespace pg::rl {

// The KL in the reward: every token that the policy chose pays β·(log π - log ref), the k1 of rl/kl.h, on top of what
// `rewards` holds, from old_log_probs and ref_log_probs. With return-to-go its gradient is that of β·KL(π ‖ ref) of
// whole responses (Ziegler et al. 2019, arXiv:1909.08593).
void subtract_kl(Response& response, double beta);

// Fills advantages of every response from its rewards, and with a critic returns from rewards and values. `moving` is
// that of Baseline::moving; Baseline::remax needs experience.greedy.
void assign_advantages(const Algorithm& algorithm, Experience& experience, MovingBaseline& moving);

}  // namespace pg::rl

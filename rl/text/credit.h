#pragma once
// Advantages from rewards, according to an algorithm's credit and baseline.
#include "rl/advantages.h"
#include "rl/algorithm.h"
#include "rl/text/experience.h"

namespace pg::rl {

// KL penalty in the reward: subtracts β·(log π - log ref), the k1 of rl/kl.h, from the reward of every token sampled by
// the policy. It uses old_log_probs and ref_log_probs. With return-to-go its gradient is that of β·KL(π ‖ ref) of whole
// responses (Ziegler et al. 2019, arXiv:1909.08593).
void subtract_kl(Response& response, double beta);

// Computes the advantages of every response from its rewards and, with a critic, its returns from rewards and values.
// `moving` is the state of Baseline::moving. Baseline::remax requires experience.greedy.
void assign_advantages(const Algorithm& algorithm, Experience& experience, MovingBaseline& moving);

}  // namespace pg::rl

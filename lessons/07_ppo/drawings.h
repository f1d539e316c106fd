#pragma once
// Drawings of the environments of the demonstration, from their observations.
#include <string>
#include <vector>

#include "rl/control/trainer.h"

namespace pg::lesson07 {

using Episode = std::vector<std::vector<double>>;  // the observations, one per step

// An episode in which the policy takes its most probable action, or its mean torque. `seed` is for the initial state.
Episode play(rl::EnvTrainer& trainer, const std::string& environment, uint64_t seed);

// Four frames of an episode side by side, from the first step to the last.
std::string draw_cartpole(const Episode& episode);  // the cart in the middle of each frame
std::string draw_pendulum(const Episode& episode);
std::string draw_arm(const Episode& episode);  // the two links and, as +, the target

}  // namespace pg::lesson07

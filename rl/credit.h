#pragma once
// From rewards to advantages, as an algorithm's credit and baseline say.
#include "rl/advantages.h"
#include "rl/algorithm.h"
#include "rl/experience.h"

namespace pg::rl {

// Fills advantages of every response from its rewards, and with a critic returns from rewards and values. `moving` is
// that of Baseline::moving; Baseline::remax needs experience.greedy.
void assign_advantages(const Algorithm& algorithm, Experience& experience, MovingBaseline& moving);

}  // namespace pg::rl

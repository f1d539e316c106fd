#pragma once
// What is done to rewards and to sampling beside the algorithm itself.
#include <cstdint>

namespace pg::rl {

// DAPO's soft punishment of responses that run into the limit (Yu et al. 2025, arXiv:2503.14476): 0 up to
// max_length - cache tokens, then falling linearly to -1 at max_length, -1 beyond.
double overlong_penalty(int64_t length, int64_t max_length, int64_t cache);

// A sampling temperature that rises when rewards are all alike: base·target_std / std, within [low, high]; high where
// the last batch had no spread, base before the first batch (std < 0). target_std should be what a good batch has:
// rewards in [0, 1] never have more than 1/2, so a target of 1 would hold the temperature at its top.
double adaptive_temperature(double base, double std, double target_std, double low, double high);

}  // namespace pg::rl

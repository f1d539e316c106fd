#pragma once
// Reward shaping and sampling adjustments that are not part of the algorithm itself.
#include <cstdint>

namespace pg::rl {

// DAPO's soft penalty for responses that reach the length limit (Yu et al. 2025, arXiv:2503.14476): 0 up to max_length
// - cache tokens, then falling linearly to -1 at max_length, -1 beyond. In the paper the limit is no answer's length.
// Here right answers may fill it, so the trainer asks only for responses that are not right and longer than such an
// answer.
double overlong_penalty(int64_t length, int64_t max_length, int64_t cache);

// Sampling temperature that rises when the rewards have little spread: base·target_std / std, clamped to [low, high].
// It is high if the last batch had no spread, and base before the first batch (std < 0). target_std should be the
// standard deviation of a good batch: rewards in [0, 1] never have more than 1/2, so a target of 1 would hold the
// temperature at `high`.
double adaptive_temperature(double base, double std, double target_std, double low, double high);

}  // namespace pg::rl

#pragma once
// The Gaussian policy of box action spaces.
#include <functional>
#include <utility>

#include "autograd/ops.h"

namespace pg::rl {

// The log-probability density of actions [N, k] whose k components are independent N(mean, exp(log_std)²), and the
// entropy of the distribution, in nats: two tensors [N]. mean [N, k]; log_std [k], equal in every state.
//   log p = -Σ_i ((a_i - mean_i)² / (2 std_i²) + log std_i + log(2π)/2),   H = Σ_i (log std_i + log(2πe)/2)
// A density may be above 1, so log p may be positive and H negative.
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions);
// A function with the arguments and results of gaussian_log_prob().
using GaussianLogProb = std::function<std::pair<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&)>;

}  // namespace pg::rl

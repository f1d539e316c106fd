#pragma once
// Estimates of KL(π ‖ ref) from samples of π (Schulman 2020, "Approximating KL divergence"). log_prob and ref_log_prob
// are the log-probabilities of the sampled tokens under both, any shape; the result has that shape, in nats, and is
// differentiable in log_prob. Differentiated as a loss they are not alike: on policy the expected gradient of k1 is
// zero, that of k2 is the gradient of KL(π ‖ ref), that of k3 the gradient of KL(ref ‖ π).
#include "autograd/ops.h"

namespace pg::rl {

Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob);  // log π - log ref: unbiased, may be negative
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob);  // (log π - log ref)² / 2: never negative, biased
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob);  // ref/π - 1 - log(ref/π): unbiased, never negative

}  // namespace pg::rl

#pragma once
// Estimates of KL(π ‖ ref) from samples of π (Schulman 2020, "Approximating KL divergence"). log_prob and ref_log_prob
// are the log-probabilities of the sampled tokens under both, any shape; the result has that shape, in nats, and is
// differentiable in log_prob. Slots where the mask (u8, that shape; undefined: all 1) is 0 may hold anything, infinity
// too, and come back as 0. Differentiated as a loss they are not alike: on policy the expected gradient of k1 is
// zero, that of k2 is the gradient of KL(π ‖ ref), that of k3 the gradient of KL(ref ‖ π).
#include "autograd/ops.h"

namespace pg::rl {

// log π - log ref: unbiased, may be negative.
Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask = {});
// (log π - log ref)² / 2: never negative, biased.
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask = {});
// ref/π - 1 - log(ref/π): unbiased, never negative. Finite for any log-probabilities: ref/π counts as e^20 at most.
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask = {});
// The same of plain numbers, difference = log ref - log π.
double k3_value(double difference);
// ρ·k3 with ρ = π/old carrying a gradient too: its value is k3 when old = π, its gradient is ρ·k1 times that of log π,
// the unbiased gradient of KL(π ‖ ref) also off policy (DeepSeek-AI 2025, arXiv:2512.02556).
Tensor weighted_k3(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& old_log_prob,
                   const Tensor& mask = {});
// Σ_v π(v)·(log π(v) - log ref(v)), exact: logits of both [..., V] → [...]. A token that π never takes (logit -inf)
// adds nothing.
Tensor full_kl(const Tensor& logits, const Tensor& ref_logits);

}  // namespace pg::rl

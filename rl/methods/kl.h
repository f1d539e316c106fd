#pragma once
// Estimates of KL(π ‖ ref) from samples of π (Schulman 2020, "Approximating KL divergence"). log_prob and ref_log_prob
// are the log-probabilities of the sampled tokens under both models, in any shape. The result has that shape, is in
// nats, and is differentiable in log_prob. Slots where the mask (u8, the same shape; undefined: all 1) is 0 may hold
// anything, including infinity, and are 0 in the result. As losses the estimators have different gradients: on policy,
// the expected gradient of k1 is zero, that of k2 is the gradient of KL(π ‖ ref), and that of k3 is the gradient of
// KL(ref ‖ π).
#include "autograd/ops.h"

namespace pg::rl {

// log π - log ref: unbiased, may be negative.
Tensor k1(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask = {});
// (log π - log ref)² / 2: never negative, biased.
Tensor k2(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask = {});
// ref/π - 1 - log(ref/π): unbiased, never negative. Finite for any log-probabilities: ref/π is capped at e^20.
Tensor k3(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& mask = {});
// k3 of one scalar, difference = log ref - log π.
double k3_value(double difference);
// ρ·k3 with ρ = π/old, where ρ carries a gradient too. Its value is k3 when old = π. Its gradient is ρ·k1 times that of
// log π: the unbiased gradient of KL(π ‖ ref), also off policy (DeepSeek-AI 2025, arXiv:2512.02556).
Tensor weighted_k3(const Tensor& log_prob, const Tensor& ref_log_prob, const Tensor& old_log_prob,
                   const Tensor& mask = {});
// Σ_v π(v)·(log π(v) - log ref(v)), exact: logits of both models [..., V] → [...]. A token with probability 0 under π
// (logit -inf) adds nothing.
Tensor full_kl(const Tensor& logits, const Tensor& ref_logits);

}  // namespace pg::rl

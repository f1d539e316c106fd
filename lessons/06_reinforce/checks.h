#pragma once
// The checks of lesson 6, by source file, their inputs, and the known mistakes.
#include <functional>

#include "lessons/06_reinforce/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson06 {
using kit::as_gradient, kit::gradient_of, kit::kDouble, kit::kSingle, kit::leaf, kit::on_the_tape;

// checks_gradient.cpp
kit::Grades<Impl> check_token_log_prob, check_reinforce_loss;
// checks_returns.cpp
kit::Grades<Impl> check_return_to_go, check_advantage, check_kl;

// mistakes.cpp
kit::Mistakes<&Impl::token_log_prob> log_prob_mistakes();
kit::Mistakes<&Impl::reinforce_loss> loss_mistakes();
kit::Mistakes<&Impl::return_to_go> return_mistakes();
kit::Mistakes<&Impl::advantage> advantage_mistakes();
kit::Mistakes<&Impl::k1> k1_mistakes();
kit::Mistakes<&Impl::k2> k2_mistakes();
kit::Mistakes<&Impl::k3> k3_mistakes();

// Σ_k weight(t, k)·r[b, k] for each step t of each row b.
Tensor weighted_sums(const Tensor& rewards, const std::function<double(int64_t, int64_t)>& weight);

inline Tensor normal(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return kit::normal(shape, seed, 1.5, dtype);
}
// Random log-probabilities.
inline Tensor negative(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return neg(abs(normal(shape, seed, dtype)));
}

}  // namespace pg::lesson06

#pragma once
// The checks of lesson 6, by source file, and their inputs.
#include "lessons/06_reinforce/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson06 {
using kit::as_gradient;
using kit::gradient_of;
using kit::kDouble;
using kit::kSingle;
using kit::leaf;
using kit::on_the_tape;

// checks_gradient.cpp
void check_token_log_prob(kit::Grader& g, const Impl& impl);
void check_reinforce_loss(kit::Grader& g, const Impl& impl);
// checks_returns.cpp
void check_return_to_go(kit::Grader& g, const Impl& impl);
void check_advantage(kit::Grader& g, const Impl& impl);
void check_kl(kit::Grader& g, const Impl& impl);

inline Tensor normal(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return kit::normal(shape, seed, 1.5, dtype);
}
// Random log-probabilities.
inline Tensor negative(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return neg(abs(normal(shape, seed, dtype)));
}

}  // namespace pg::lesson06

#pragma once
// The checks of lesson 6, by source file, and their inputs.
#include "lessons/06_reinforce/lesson.h"

namespace pg::lesson06 {

// checks_gradient.cpp
void check_token_log_prob(kit::Grader& g, const Impl& impl);
void check_reinforce_loss(kit::Grader& g, const Impl& impl);
// checks_returns.cpp
void check_return_to_go(kit::Grader& g, const Impl& impl);
void check_advantage(kit::Grader& g, const Impl& impl);
void check_kl(kit::Grader& g, const Impl& impl);

constexpr double kDouble = 1e-9, kSingle = 1e-5;  // tolerances for inputs in f64 and in f32
inline kit::Compare as_gradient(double rtol, std::vector<kit::Mistake> mistakes = {}) {
  return {.rtol = rtol, .mistakes = std::move(mistakes), .gradient = true};
}

inline Tensor normal(const Shape& shape, uint64_t seed, DType dtype = f64) {
  Generator random(seed);
  return Tensor::normal(shape, 0, 1.5, random, dtype);
}
// Random log-probabilities.
inline Tensor negative(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return neg(abs(normal(shape, seed, dtype)));
}
// x as a leaf that shares its memory.
inline Tensor leaf(const Tensor& x) {
  Tensor result = x.detach();
  return result.set_requires_grad();
}
inline kit::Value gradient_of(const Tensor& x) {
  const Tensor grad = x.grad();
  return grad.defined() ? grad : zeros_like(x);
}
inline bool on_the_tape(kit::Grader& g, const Tensor& x) {
  return g.expect(x.requires_grad(), "the result", "no tape", "a tensor on the tape",
                  "without a gradient nothing is learned: use ops all the way, no detach() and no data()");
}

}  // namespace pg::lesson06

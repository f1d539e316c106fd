#pragma once
// The checks of lesson 7, by source file, and their inputs.
#include "lessons/07_ppo/lesson.h"

namespace pg::lesson07 {

// checks_gae.cpp
void check_gae(kit::Grader& g, const Impl& impl);
void check_termination(kit::Grader& g, const Impl& impl);
void check_truncation(kit::Grader& g, const Impl& impl);
void check_mask(kit::Grader& g, const Impl& impl);
// checks_losses.cpp
void check_clip_loss(kit::Grader& g, const Impl& impl);
void check_value_loss(kit::Grader& g, const Impl& impl);
// checks_gaussian.cpp
void check_log_prob(kit::Grader& g, const Impl& impl);
void check_entropy(kit::Grader& g, const Impl& impl);

constexpr double kDouble = 1e-9, kSingle = 1e-5;  // tolerances for inputs in f64 and in f32
inline kit::Compare as_gradient(double rtol, std::vector<kit::Mistake> mistakes = {}) {
  return {.rtol = rtol, .mistakes = std::move(mistakes), .gradient = true};
}

inline Tensor normal(const Shape& shape, uint64_t seed, DType dtype = f64) {
  Generator random(seed);
  return Tensor::normal(shape, 0, 1, random, dtype);
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
  return g.expect(
      x.requires_grad(), "the result", "no tape", "a tensor on the tape",
      "without a gradient nothing is learned: use tensor operations only, without detach() and to_vector()");
}
// f(i) for each element of a tensor of this shape.
template <class F>
kit::Value each(const Shape& shape, F f) {
  kit::Value result(shape, std::vector<double>(static_cast<size_t>(numel(shape))));
  for (size_t i = 0; i < result.v.size(); ++i) result.v[i] = f(i);
  return result;
}
inline double mean_of(const kit::Value& x) {
  double total = 0;
  for (double v : x.v) total += v / static_cast<double>(x.v.size());
  return total;
}

}  // namespace pg::lesson07

#pragma once
// The checks of lesson 7, by source file, and their inputs.
#include "lessons/07_ppo/lesson.h"
#include "lessons/kit/gradients.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson07 {
using kit::as_gradient;
using kit::gradient_of;
using kit::kDouble;
using kit::kSingle;
using kit::leaf;
using kit::mean_of;
using kit::on_the_tape;

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

// mistakes.cpp
using GaeMistakes = kit::Mistakes<&Impl::gae>;
const GaeMistakes& gae_mistakes();
using ClipMistakes = kit::Mistakes<&Impl::clip_loss>;
const ClipMistakes& clip_mistakes();

inline Tensor normal(const Shape& shape, uint64_t seed, DType dtype = f64) {
  return kit::normal(shape, seed, 1, dtype);
}
// f(i) for each element of a tensor of this shape.
template <class F>
kit::Value each(const Shape& shape, F f) {
  kit::Value result(shape, std::vector<double>(static_cast<size_t>(numel(shape))));
  for (size_t i = 0; i < result.v.size(); ++i) result.v[i] = f(i);
  return result;
}

}  // namespace pg::lesson07

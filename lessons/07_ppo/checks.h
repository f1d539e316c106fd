#pragma once
// The checks of lesson 7, by source file, and their inputs.
#include "lessons/07_ppo/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson07 {
using kit::as_gradient, kit::gradient_of, kit::kDouble, kit::kSingle, kit::leaf, kit::on_the_tape;

// checks_gae.cpp
kit::Grades<Impl> check_gae, check_termination, check_truncation, check_mask;
// checks_losses.cpp
kit::Grades<Impl> check_clip_loss, check_value_loss;
// checks_gaussian.cpp
kit::Grades<Impl> check_log_prob, check_entropy;

// mistakes_gae.cpp
kit::Mistakes<&Impl::gae> gae_mistakes();
// mistakes_losses.cpp
kit::Mistakes<&Impl::clip_loss> clip_mistakes();
kit::Mistakes<&Impl::value_loss> value_mistakes();
kit::Mistakes<&Impl::gaussian_log_prob> gaussian_mistakes();

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

#pragma once
// Lesson 7b: the functions that you write, with the engine's own names.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"

namespace pg::lesson07b {

Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high);
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask);
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson07b::clip_loss)* clip_loss = lesson07b::clip_loss;
  decltype(lesson07b::value_loss)* value_loss = lesson07b::value_loss;
  decltype(lesson07b::gaussian_log_prob)* gaussian_log_prob = lesson07b::gaussian_log_prob;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();

}  // namespace pg::lesson07b

#pragma once
// Lesson 7: the functions that you write, with the engine's own names.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "rl/advantages.h"

namespace pg::lesson07 {

using rl::Gae, rl::GaeOptions;

// The elements of x in row-major order; `count` times `otherwise` if x is undefined.
inline std::vector<double> numbers(const Tensor& x, int64_t count, double otherwise) {
  return x.defined() ? x.to_vector() : std::vector<double>(static_cast<size_t>(count), otherwise);
}

Gae gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options);
Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high);
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask);
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson07::gae)* gae = lesson07::gae;
  decltype(lesson07::clip_loss)* clip_loss = lesson07::clip_loss;
  decltype(lesson07::value_loss)* value_loss = lesson07::value_loss;
  decltype(lesson07::gaussian_log_prob)* gaussian_log_prob = lesson07::gaussian_log_prob;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The parts of the demonstration.
void show_first_step(kit::Demo& demo, const Impl& impl);
void show_cartpole(kit::Demo& demo, const Impl& impl);
void show_ablations(kit::Demo& demo, const Impl& impl);
void show_robots(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson07

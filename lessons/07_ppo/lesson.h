#pragma once
// Lesson 7: the functions that you write, with the engine's own names.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "rl/advantages.h"

namespace pg::lesson07 {

using rl::Gae;
using rl::GaeOptions;

// The elements of x in row-major order; `count` times `otherwise` if x is undefined.
inline std::vector<double> numbers(const Tensor& x, int64_t count, double otherwise) {
  return x.defined() ? x.to_vector() : std::vector<double>(static_cast<size_t>(count), otherwise);
}

Gae gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options);
Tensor clip_loss(const Tensor& ratio, const Tensor& advantage, double low, double high);
Tensor value_loss(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                  const Tensor& mask);
std::pair<Tensor, Tensor> gaussian_log_prob(const Tensor& mean, const Tensor& log_std, const Tensor& actions);

struct Impl {
  Gae (*gae)(const Tensor&, const Tensor&, const Tensor&, const GaeOptions&);
  Tensor (*clip_loss)(const Tensor&, const Tensor&, double, double);
  Tensor (*value_loss)(const Tensor&, const Tensor&, const Tensor&, double, const Tensor&);
  std::pair<Tensor, Tensor> (*gaussian_log_prob)(const Tensor&, const Tensor&, const Tensor&);
};
Impl reference();
Impl learner();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The parts of the demonstration.
void show_first_step(kit::Demo& demo, const Impl& impl);
void show_cartpole(kit::Demo& demo, const Impl& impl);
void show_ablations(kit::Demo& demo, const Impl& impl);
void show_robots(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson07

#pragma once
// Lesson 3: the functions that you write, with the engine's own names.
#include <span>
#include <vector>

#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "tensor/kernels.h"
#include "tensor/sample.h"

namespace pg::lesson03 {

Tensor softmax(const Tensor& x);
Tensor cross_entropy_backward(const Tensor& logits, const Tensor& targets);
void adamw(std::span<double> p, std::span<const double> g, std::span<double> m, std::span<double> v,
           const AdamWArgs& args);
std::vector<double> filtered_probs(std::span<const double> logits, const SampleOptions& options);
int32_t sample_token(std::span<const double> probs, double u);

struct Impl {
  Tensor (*softmax)(const Tensor&);
  Tensor (*cross_entropy_backward)(const Tensor&, const Tensor&);
  void (*adamw)(std::span<double>, std::span<const double>, std::span<double>, std::span<double>, const AdamWArgs&);
  std::vector<double> (*filtered_probs)(std::span<const double>, const SampleOptions&);
  int32_t (*sample_token)(std::span<const double>, double);
};
Impl reference();
Impl learner();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson03

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

struct Impl {  // yours by default
  decltype(&lesson03::softmax) softmax = lesson03::softmax;
  decltype(&lesson03::cross_entropy_backward) cross_entropy_backward = lesson03::cross_entropy_backward;
  decltype(&lesson03::adamw) adamw = lesson03::adamw;
  decltype(&lesson03::filtered_probs) filtered_probs = lesson03::filtered_probs;
  decltype(&lesson03::sample_token) sample_token = lesson03::sample_token;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson03

#pragma once
// The checks of lesson 4 by part, and what they share.
#include "lessons/04_gpt/lesson.h"

namespace pg::lesson04 {

// checks_backward.cpp
void check_attention_backward(kit::Grader& g, const Impl& impl);
void check_layer_norm_backward(kit::Grader& g, const Impl& impl);
// checks_init.cpp
void check_init(kit::Grader& g, const Impl& impl);
// checks_decode.cpp
void check_decode(kit::Grader& g, const Impl& impl);

struct Qkv {
  Tensor q, k, v;
};
Qkv random_qkv(const Shape& shape, uint64_t seed, DType dtype = f64);
Qkv map(const Qkv& x, const std::function<Tensor(const Tensor&)>& f);
Qkv leaves(const Qkv& x);
double tolerance(const Tensor& x);  // of a comparison with the engine's kernels, which add up in another order
double root_of(int64_t n);

}  // namespace pg::lesson04

#pragma once
// The checks of lesson 4 by part, and what they share.
#include "lessons/04_gpt/lesson.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson04 {

// checks_backward.cpp
void check_attention_backward(kit::Grader& g, const Impl& impl);
void check_layer_norm_backward(kit::Grader& g, const Impl& impl);
// checks_init.cpp
void check_init(kit::Grader& g, const Impl& impl);
// checks_decode.cpp
void check_decode(kit::Grader& g, const Impl& impl);

// mistakes.cpp
kit::Mistakes<&Impl::attention> attention_mistakes();
kit::Mistakes<&Impl::attention_backward> attention_backward_mistakes();
kit::Mistakes<&Impl::layer_norm_backward> layer_norm_mistakes();
kit::Mistakes<&Impl::decode> decode_mistakes();  // that give wrong results
kit::Mistakes<&Impl::decode> cache_mistakes();   // that leave something wrong in the cache

struct Qkv {
  Tensor q, k, v;
};
Qkv random_qkv(const Shape& shape, uint64_t seed, DType dtype = f64);
Qkv map(const Qkv& x, const std::function<Tensor(const Tensor&)>& f);
double tolerance(const Tensor& x);  // of a comparison with the engine's kernels, which add up in another order

}  // namespace pg::lesson04

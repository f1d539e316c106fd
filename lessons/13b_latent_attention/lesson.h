#pragma once
// Lesson 13b: the function that you write, and what it works on.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"

namespace pg::lesson13b {

// What latent attention works on: H heads of queries at the last T of S positions, and the latents of all S, which all
// heads share. The parts "_rope" are rotated already. LatentAttention has the same (nn/variants/latent_attention.h).
struct LatentInputs {
  Tensor q_nope, q_rope;  // [B, H, T, d_n], [B, H, T, d_r]
  Tensor latent, k_rope;  // [B, 1, S, d_c], [B, 1, S, d_r]
};

Tensor absorbed_attention(const LatentInputs& in, const Tensor& k_up, const Tensor& v_up);

// The piece: the learner's, unless another is named.
struct Impl {
  decltype(lesson13b::absorbed_attention)* absorbed_attention = lesson13b::absorbed_attention;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();

}  // namespace pg::lesson13b

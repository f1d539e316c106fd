#pragma once
// Lesson 14: the functions that you write.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "nn/variants/denoiser.h"

namespace pg::lesson14 {

MaskedTokens mask_tokens(const Tensor& ids, int32_t mask_id, Generator& generator);
Tensor denoising_loss(const Tensor& logits, const MaskedTokens& tokens);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson14::mask_tokens)* mask_tokens = lesson14::mask_tokens;
  decltype(lesson14::denoising_loss)* denoising_loss = lesson14::denoising_loss;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();

}  // namespace pg::lesson14

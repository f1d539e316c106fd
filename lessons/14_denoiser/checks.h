#pragma once
// The checks of lesson 14, and the known mistakes.
#include "lessons/13_positions/grading.h"
#include "lessons/14_denoiser/lesson.h"

namespace pg::lesson14 {
using lesson13::random_tensor, lesson13::require, lesson13::same_gradients, lesson13::same_tensor, lesson13::Unchanged;

kit::Grades<Impl> check_mask_tokens, check_denoising_loss;  // checks_masks.cpp

// mistakes.cpp
kit::Mistakes<&Impl::mask_tokens> mask_mistakes();
kit::Mistakes<&Impl::denoising_loss> loss_mistakes();
// The denoising loss by its definition, or by another rule.
struct LossRule {
  bool mask_logit = false, first_column = false, visible_too = false;
  double power = 1;  // of the weight
  enum Divisor { all, masked, rows, length, none, weights } divisor = all;
  double unit = 1;
};
Tensor loss_of(const Tensor& logits, const MaskedTokens& tokens, const LossRule& rule = {});

}  // namespace pg::lesson14

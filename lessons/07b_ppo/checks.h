#pragma once
// The checks of lesson 7b by source file, and the known mistakes.
#include "lessons/07_gae/grading.h"
#include "lessons/07b_ppo/lesson.h"

namespace pg::lesson07b {
using kit::as_gradient, kit::gradient_of, kit::kDouble, kit::kSingle, kit::leaf, kit::on_the_tape;
using lesson07::each, lesson07::normal, lesson07::numbers;

// checks_losses.cpp
kit::Grades<Impl> check_clip_loss, check_value_loss;
// checks_gaussian.cpp
kit::Grades<Impl> check_log_prob, check_entropy;

// mistakes.cpp
kit::Mistakes<&Impl::clip_loss> clip_mistakes();
kit::Mistakes<&Impl::value_loss> value_mistakes();
kit::Mistakes<&Impl::gaussian_log_prob> gaussian_mistakes();

}  // namespace pg::lesson07b

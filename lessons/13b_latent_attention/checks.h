#pragma once
// The check of lesson 13b, and the known mistakes.
#include "lessons/13_positions/grading.h"
#include "lessons/13b_latent_attention/lesson.h"

namespace pg::lesson13b {
using lesson13::random_tensor, lesson13::same_gradients, lesson13::same_tensor, lesson13::Unchanged;

kit::Mistakes<&Impl::absorbed_attention> latent_mistakes();  // mistakes.cpp

}  // namespace pg::lesson13b

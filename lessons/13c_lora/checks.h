#pragma once
// The checks of lesson 13c, and the known mistakes.
#include "lessons/13_positions/grading.h"
#include "lessons/13c_lora/lesson.h"

namespace pg::lesson13c {
using lesson13::random_tensor, lesson13::refuses, lesson13::require, lesson13::runs, lesson13::Unchanged;

kit::Grades<Impl> check_add_lora, check_merge_lora;  // checks_lora.cpp

// mistakes.cpp
kit::Mistakes<&Impl::add_lora> add_mistakes();
kit::Mistakes<&Impl::merge_lora> merge_mistakes();

}  // namespace pg::lesson13c

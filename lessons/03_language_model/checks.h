#pragma once
// The checks of lesson 3 that have a file of their own.
#include "lessons/03_language_model/lesson.h"

namespace pg::lesson03 {

// checks_sampling.cpp
void check_filtered_probs(kit::Grader& g, const Impl& impl);
void check_sample_token(kit::Grader& g, const Impl& impl);

}  // namespace pg::lesson03

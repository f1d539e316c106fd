#pragma once
// The check of lesson 1 that has a file of its own.
#include "lessons/01_tensors/lesson.h"

namespace pg::lesson01 {

// checks_matmul.cpp
void check_matmul(kit::Grader& g, const Impl& impl);

}  // namespace pg::lesson01

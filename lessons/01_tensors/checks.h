#pragma once
// What the files of lesson 1's checks share: checks, known mistakes.
#include "lessons/01_tensors/lesson.h"
#include "lessons/kit/mistakes.h"

namespace pg::lesson01 {

// checks_matmul.cpp
void check_matmul(kit::Grader& g, const Impl& impl);

// mistakes.cpp
kit::Mistakes<&Impl::broadcast_shapes> broadcast_mistakes();
kit::Mistakes<&Impl::offset_of> offset_mistakes();
kit::Mistakes<&Impl::matmul> matmul_mistakes();

}  // namespace pg::lesson01

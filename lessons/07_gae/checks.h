#pragma once
// The checks of lesson 7, and the known mistakes.
#include "lessons/07_gae/grading.h"

namespace pg::lesson07 {

kit::Grades<Impl> check_gae, check_termination, check_truncation, check_mask;  // checks_gae.cpp
kit::Mistakes<&Impl::gae> gae_mistakes();                                      // mistakes.cpp

}  // namespace pg::lesson07

#pragma once
// The checks of lesson 7, by source file.
#include "lessons/07_ppo/lesson.h"

namespace pg::lesson07 {

// checks_gae.cpp
void check_gae(kit::Grader& g, const Impl& impl);
void check_termination(kit::Grader& g, const Impl& impl);
void check_truncation(kit::Grader& g, const Impl& impl);
void check_mask(kit::Grader& g, const Impl& impl);
// checks_losses.cpp
void check_clip_loss(kit::Grader& g, const Impl& impl);
void check_value_loss(kit::Grader& g, const Impl& impl);
void check_log_prob(kit::Grader& g, const Impl& impl);
void check_entropy(kit::Grader& g, const Impl& impl);

}  // namespace pg::lesson07

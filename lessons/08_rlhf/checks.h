#pragma once
// The checks that lesson 8 runs. checks.cpp defines their explanations and hints; the two files below compare results.
#include "lessons/08_rlhf/lesson.h"

namespace pg::lesson08 {

// check_rewards.cpp
void check_sft_batch(kit::Grader& g, const Impl& impl);
void check_set_rewards(kit::Grader& g, const Impl& impl);
void check_subtract_kl(kit::Grader& g, const Impl& impl);

// check_preferences.cpp
void check_bradley_terry_loss(kit::Grader& g, const Impl& impl);
void check_sequence_log_probs(kit::Grader& g, const Impl& impl);
void check_dpo_loss(kit::Grader& g, const Impl& impl);

}  // namespace pg::lesson08

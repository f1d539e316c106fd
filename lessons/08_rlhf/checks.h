#pragma once
// The checks that lesson 8 runs, by source file, and their inputs. checks.cpp defines their explanations and hints.
#include "lessons/08_rlhf/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson08 {
using kit::as_gradient;
using kit::gradient_of;
using kit::kDouble;
using kit::kSingle;
using kit::leaf;
using kit::mean_of;
using kit::on_the_tape;

// check_rewards.cpp
void check_sft_batch(kit::Grader& g, const Impl& impl);
void check_set_rewards(kit::Grader& g, const Impl& impl);
void check_subtract_kl(kit::Grader& g, const Impl& impl);
// check_preferences.cpp
void check_bradley_terry_loss(kit::Grader& g, const Impl& impl);
void check_dpo_loss(kit::Grader& g, const Impl& impl);
// check_responses.cpp
void check_sequence_log_probs(kit::Grader& g, const Impl& impl);

}  // namespace pg::lesson08

#pragma once
// The checks that lesson 8 runs, by source file, and their inputs. checks.cpp defines their explanations and hints.
#include "lessons/08_rlhf/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson08 {
using kit::as_gradient, kit::gradient_of, kit::kDouble, kit::kSingle, kit::leaf, kit::on_the_tape;

// check_rewards.cpp
kit::Grades<Impl> check_sft_batch, check_set_rewards, check_subtract_kl;
// check_preferences.cpp
kit::Grades<Impl> check_bradley_terry_loss, check_dpo_loss;
// check_responses.cpp
kit::Grades<Impl> check_sequence_log_probs;

// mistakes_pairs.cpp
kit::Mistakes<&Impl::bradley_terry_loss> pair_mistakes();
kit::Mistakes<&Impl::dpo_loss> dpo_mistakes();
// mistakes_tokens.cpp
kit::Mistakes<&Impl::sft_batch> sft_mistakes();
kit::Mistakes<&Impl::set_rewards> score_mistakes();
kit::Mistakes<&Impl::subtract_kl> kl_mistakes();
kit::Mistakes<&Impl::sequence_log_probs> log_prob_mistakes();

}  // namespace pg::lesson08

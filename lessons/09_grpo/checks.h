#pragma once
// The checks of lesson 9, by topic, and the known mistakes.
#include "lessons/09_grpo/lesson.h"
#include "lessons/kit/gradients.h"

namespace pg::lesson09 {

kit::Grades<Impl> check_group_mean, check_group_std, check_leave_one_out, check_signal, check_token_ratio,
    check_sequence_ratio, check_aggregate;

// mistakes.cpp
kit::Mistakes<&Impl::group_mean_advantage> mean_mistakes();
kit::Mistakes<&Impl::group_std_advantage> std_mistakes();
kit::Mistakes<&Impl::leave_one_out_advantage> others_mistakes();
kit::Mistakes<&Impl::groups_with_signal> signal_mistakes();
kit::Mistakes<&Impl::token_ratio> ratio_mistakes();
kit::Mistakes<&Impl::sequence_ratio> sequence_mistakes();
kit::Mistakes<&Impl::aggregate> aggregate_mistakes();

}  // namespace pg::lesson09

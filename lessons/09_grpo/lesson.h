#pragma once
// Lesson 9: the functions that you write, with the engine's own names.
#include "autograd/ops.h"
#include "lessons/kit/lesson.h"
#include "rl/policy_loss.h"

namespace pg::lesson09 {

using rl::Denominators;

// How the losses of tokens become one number.
enum class Aggregation : uint8_t { token_mean, sequence_mean, constant, sequence_sum };

Tensor group_mean_advantage(const Tensor& rewards);
Tensor group_std_advantage(const Tensor& rewards, double eps, int ddof);
Tensor leave_one_out_advantage(const Tensor& rewards);
Tensor groups_with_signal(const Tensor& rewards);
Tensor token_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask);
Tensor sequence_ratio(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask);
Tensor aggregate(const Tensor& loss, const Tensor& mask, Aggregation how, const Denominators& total);

// The pieces: the learner's, unless others are named.
struct Impl {
  decltype(lesson09::group_mean_advantage)* group_mean_advantage = lesson09::group_mean_advantage;
  decltype(lesson09::group_std_advantage)* group_std_advantage = lesson09::group_std_advantage;
  decltype(lesson09::leave_one_out_advantage)* leave_one_out_advantage = lesson09::leave_one_out_advantage;
  decltype(lesson09::groups_with_signal)* groups_with_signal = lesson09::groups_with_signal;
  decltype(lesson09::token_ratio)* token_ratio = lesson09::token_ratio;
  decltype(lesson09::sequence_ratio)* sequence_ratio = lesson09::sequence_ratio;
  decltype(lesson09::aggregate)* aggregate = lesson09::aggregate;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The five parts of the demonstration.
void show_bandit(kit::Demo& demo, const Impl& impl);
void show_characters(kit::Demo& demo, const Impl& impl);
void show_first_step(kit::Demo& demo, const Impl& impl);
void show_nesting(kit::Demo& demo, const Impl& impl);
void show_table(kit::Demo& demo, const Impl& impl);
void show_longer(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson09

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

struct Impl {
  Tensor (*group_mean_advantage)(const Tensor&);
  Tensor (*group_std_advantage)(const Tensor&, double, int);
  Tensor (*leave_one_out_advantage)(const Tensor&);
  Tensor (*groups_with_signal)(const Tensor&);
  Tensor (*token_ratio)(const Tensor&, const Tensor&, const Tensor&);
  Tensor (*sequence_ratio)(const Tensor&, const Tensor&, const Tensor&);
  Tensor (*aggregate)(const Tensor&, const Tensor&, Aggregation, const Denominators&);
};
Impl reference();
Impl learner();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The four parts of the demonstration.
void show_bandit(kit::Demo& demo, const Impl& impl);
void show_characters(kit::Demo& demo, const Impl& impl);
void show_first_step(kit::Demo& demo, const Impl& impl);
void show_table(kit::Demo& demo, const Impl& impl);

// The checks, by topic.
void check_group_mean(kit::Grader& g, const Impl& impl);
void check_group_std(kit::Grader& g, const Impl& impl);
void check_leave_one_out(kit::Grader& g, const Impl& impl);
void check_signal(kit::Grader& g, const Impl& impl);
void check_token_ratio(kit::Grader& g, const Impl& impl);
void check_sequence_ratio(kit::Grader& g, const Impl& impl);
void check_aggregate(kit::Grader& g, const Impl& impl);

}  // namespace pg::lesson09

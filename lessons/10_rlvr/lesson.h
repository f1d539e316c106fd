#pragma once
// Lesson 10: the functions that you write, and what they work on.
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lessons/kit/lesson.h"
#include "rl/methods/statistics.h"
#include "tasks/puzzles/countdown.h"
#include "tasks/puzzles/hanoi.h"

namespace pg::lesson10 {

using rl::AnswerCount;

std::optional<ReadExpression> read_expression(std::string_view text, int64_t steps);
double countdown_reward(std::string_view answer, std::span<const int64_t> numbers, int64_t target, bool all,
                        double near);
std::optional<std::string_view> last_boxed(std::string_view text);
bool same_number(std::string_view a, std::string_view b);
double pass_at_k(int64_t n, int64_t c, int64_t k);
double hanoi_progress(HanoiPosition position, std::span<const HanoiMove> moves);
double majority_vote(std::span<const AnswerCount> answers);

struct Impl {  // yours by default
  decltype(&lesson10::read_expression) read_expression = lesson10::read_expression;
  decltype(&lesson10::countdown_reward) countdown_reward = lesson10::countdown_reward;
  decltype(&lesson10::last_boxed) last_boxed = lesson10::last_boxed;
  decltype(&lesson10::same_number) same_number = lesson10::same_number;
  decltype(&lesson10::pass_at_k) pass_at_k = lesson10::pass_at_k;
  decltype(&lesson10::hanoi_progress) hanoi_progress = lesson10::hanoi_progress;
  decltype(&lesson10::majority_vote) majority_vote = lesson10::majority_vote;
};
Impl reference();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

// The parts of the demonstration, and their files.
void show_attacks(kit::Demo& demo, const Impl& impl);     // graders.cpp
void show_estimators(kit::Demo& demo, const Impl& impl);  // estimators.cpp
void show_stages(kit::Demo& demo, const Impl& impl);      // stages.cpp
void show_progress(kit::Demo& demo, const Impl& impl);    // estimators.cpp
void show_pretrained(kit::Demo& demo, const Impl& impl);  // pretrained.cpp

}  // namespace pg::lesson10

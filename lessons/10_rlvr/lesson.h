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

struct Impl {
  std::optional<ReadExpression> (*read_expression)(std::string_view, int64_t);
  double (*countdown_reward)(std::string_view, std::span<const int64_t>, int64_t, bool, double);
  std::optional<std::string_view> (*last_boxed)(std::string_view);
  bool (*same_number)(std::string_view, std::string_view);
  double (*pass_at_k)(int64_t, int64_t, int64_t);
  double (*hanoi_progress)(HanoiPosition, std::span<const HanoiMove>);
  double (*majority_vote)(std::span<const AnswerCount>);
};
Impl reference();
Impl learner();
std::vector<kit::Check<Impl>> checks();
void demo(kit::Demo& demo, const Impl& impl);

}  // namespace pg::lesson10

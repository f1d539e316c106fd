#pragma once
// A milestone is a program at the end of a track. It runs on the learner's own pieces of several lessons, with the
// engine only below them, and refuses while one of them is not ok.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "lessons/kit/lesson.h"

namespace pg::kit {

struct Milestone {
  std::string name;                  // "my_gpt": the argument of make
  std::vector<LessonEntry> lessons;  // those whose pieces it runs on
  std::function<void(Demo&)> show;
  std::string below;  // what the engine does in it
  // Lessons beside the track. If all pieces of these are ok too, `show_beside` follows, which calls own_pieces()
  // itself.
  std::vector<LessonEntry> beside = {};
  std::function<void(Demo&)> show_beside = {};
};

// From now on the calls of the piece of that name are counted, those in child processes too (guard.cpp).
void count_piece(const std::string& name);
// The pieces of count_piece() in their order, and how often each was called.
std::vector<std::pair<std::string, int64_t>> piece_calls();

// All of the learner's pieces; each call of one is counted.
template <class Impl>
Impl own_pieces(const Lesson<Impl>& lesson) {
  Impl impl = lesson.reference;
  for (const Check<Impl>& check : lesson.checks) {
    count_piece(check.piece.name);
    check.piece.watch(impl, lesson.learner);
  }
  return impl;
}
// The lesson as the milestone grades it: with the checks of these pieces only. Error for a name that it has not.
template <class Impl>
Lesson<Impl> with_pieces(Lesson<Impl> lesson, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto has = [&](const Check<Impl>& check) { return check.piece.name == name; };
    pg::check(std::any_of(lesson.checks.begin(), lesson.checks.end(), has), "milestone: {} has no piece {}",
              lesson.folder, name);
  }
  std::erase_if(lesson.checks, [&](const Check<Impl>& check) {
    return std::find(names.begin(), names.end(), check.piece.name) == names.end();
  });
  return lesson;
}

// Grades the pieces. If all are ok, it shows the milestone, and then says in three lines what was the learner's own.
// Returns 0 if all claims hold and each piece was called, 1 if not; 3 if a piece is not ok, which one sentence names.
int run_milestone(const Milestone& milestone);

}  // namespace pg::kit

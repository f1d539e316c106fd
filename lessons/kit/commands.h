#pragma once
// What ./lessonN can do. Each returns the exit status.
#include <string>
#include <vector>

#include "lessons/kit/lesson.h"
#include "lessons/kit/state.h"

namespace pg::kit {

// The checks that `names` mean: ids (03.1 or 3.1), their last digits, or names of pieces; all when empty. Error on a
// name that is none of these.
std::vector<const CheckEntry*> select(const LessonEntry& lesson, const std::vector<std::string>& names);

struct CheckOptions {
  std::vector<std::string> names;
  bool reference = false;  // grade the reference instead of the learner
  bool json = false;
  bool record = true;  // in .progress.json
};
// 0 all ok, 1 something WRONG, 2 only TODO left.
int check_command(const LessonEntry& lesson, const CheckOptions& options);

struct DemoOptions {
  bool full = false, json = false, mine = false;
};
// 0 when every claim holds.
int demo_command(const LessonEntry& lesson, const DemoOptions& options);

int hint_command(const LessonEntry& lesson, const std::string& name, int level);
int explain_command(const LessonEntry& lesson, const std::string& name);
int solution_command(const LessonEntry& lesson, const std::string& name);
int reset_command(const LessonEntry& lesson);
// One line: how far the learner is, as of the last check.
int progress_command(const LessonEntry& lesson);
// For authors: are hints, README and solutions complete? Lists what is not.
int lint_command(const LessonEntry& lesson);

std::string progress_path();

}  // namespace pg::kit

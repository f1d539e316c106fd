#pragma once
// The commands of ./lessonN. Each returns the exit status.
#include <string>
#include <vector>

#include "lessons/kit/lesson.h"
#include "lessons/kit/state.h"

namespace pg::kit {

// The checks selected by `names`: ids (03.1 or 3.1), their last digits, or names of pieces; all if empty. Throws Error
// for any other name.
std::vector<const CheckEntry*> select(const LessonEntry& lesson, const std::vector<std::string>& names);

struct CheckOptions {
  std::vector<std::string> names;
  bool reference = false;  // grade the reference instead of the learner
  bool json = false;
  bool events = false;  // prints each check as a JSON object as soon as it is graded, and nothing else; records nothing
  bool record = true;   // in .progress.json
  bool first = false;   // prints each case, and stops at the first that is WRONG
  uint64_t challenge = 0;  // not 0: other random inputs, and nothing is recorded
  bool fork = true;        // each check in a process of its own (isolate.h)
};
// Returns 0 if all are ok, 1 if any is WRONG, 2 if only TODO is left.
int check_command(const LessonEntry& lesson, const CheckOptions& options);

struct DemoOptions {
  bool full = false, json = false, mine = false;
  bool wrong = false;   // with mine: also the learner's pieces that a check calls WRONG
  bool events = false;  // prints the items of the record as JSON objects, one per line, instead of texts
  Pace pace = {};
  std::vector<std::string> set = {};  // "name=value"
  std::string report = {};            // a file for the demonstration as an HTML page; empty: none
  std::string slides = {};            // the same, opened as slides
  std::string cast = {};              // a file for it as a recording of a terminal
};
// Returns 0 if every claim holds.
int demo_command(const LessonEntry& lesson, const DemoOptions& options);

struct HuntOptions {
  uint64_t seed = 0;  // 0: the number of the learner's answers so far, plus 1
  bool list = false, json = false;
  std::string answer = {};  // "a" to "e": taken in place of what is typed
  bool record = false;      // for authors: writes hunt.csv
  int verify = 0;           // for authors: checks hunt.csv, and trains so many of its mistakes again
};
// Shows a training with one mistake of `mistaken` in it and asks for the cause (hunt.cpp). Without them it builds
// lessonN_mutants, which has them, and replaces this process by it, with `argv`. Returns 0, or 1 if --verify fails.
int hunt_command(const LessonEntry& lesson, const MistakenLessons& mistaken, const HuntOptions& options, char** argv);

int hint_command(const LessonEntry& lesson, const std::string& name, int level);
int explain_command(const LessonEntry& lesson, const std::string& name);
int solution_command(const LessonEntry& lesson, const std::string& name);
// Keeps the exercise aside, makes it anew, and records its checks as TODO.
int reset_command(const LessonEntry& lesson);
// Prints one line: the learner's progress as of the last check.
int progress_command(const LessonEntry& lesson);
// That line, of at most 80 columns: a sign per check, how many are ok and WRONG, the minutes that the others take, and
// whether the exercise was edited since.
std::string progress_line(const LessonEntry& lesson, const LessonState& state,
                          const std::map<std::string, int>& minutes, bool edited);
// Asks the questions of quiz.txt, answers by letter from standard input; as JSON it prints them all.
int quiz_command(const LessonEntry& lesson, bool json);
// For authors: writes the lesson's band.csv, in ten demonstrations of which nothing is shown.
int band_command(const LessonEntry& lesson);
// For authors: lists hints, README sections and solutions that are missing or incomplete.
int lint_command(const LessonEntry& lesson);

// The piece of a check as the lesson's answers.h has it; "" if it has not. A piece with several checks is marked with
// the first of them.
std::string find_answer(const LessonEntry& lesson, const CheckEntry& check);
std::string progress_path();
std::string band_file(const LessonEntry& lesson);
// Whether the tree was made by scripts/handout.sh.
bool is_handout(const LessonEntry& lesson);
// The minutes of each check, as the lesson's README gives them. Empty without a README.
std::map<std::string, int> minutes_of(const LessonEntry& lesson);

}  // namespace pg::kit

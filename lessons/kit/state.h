#pragma once
// The learner's saved progress, in .progress.json at the repository's root (ignored by git).
#include <map>
#include <set>
#include <string>

#include "lessons/kit/grader.h"

namespace pg::kit {

// What scripts that help a teacher want to know of a check (lessons/kit/collect). Times are seconds since 1970; 0:
// never.
struct CheckHistory {
  int64_t checked = 0;
  int64_t wrong_since = 0;  // the first WRONG since the last ok; an edit does not change it
  std::string diagnosis{};  // of the last WRONG since the last ok
  std::string remark{};     // below the ok of the last check, for example that the answer only calls the engine
  int64_t solved = 0;       // the first ok
  int attempts = 0;         // gradings that were not TODO, up to the first ok
  bool crashed = false;     // the last check ended with a crash
};
// Of ./lessonN hunt: questions answered, right answers, right answers in a row now and at most.
struct HuntScore {
  int64_t answered = 0, right = 0, streak = 0, best = 0;
};
struct LessonState {
  std::string hash;                             // of the exercise when it was graded: after an edit the record is stale
  std::string when;                             // "2025-03-01 14:05", local time
  std::map<std::string, State> checks;          // by id
  std::map<std::string, CheckHistory> history;  // by check id
  std::map<std::string, int> hints;             // the last level shown, by check id
  std::set<std::string> solution_asked;
  int64_t begun = 0;  // the first check or hint
  HuntScore hunt{};
};
// Whether a text is a lesson's number: "7", or "7b" for a part.
bool is_lesson_number(const std::string& text);
// "7b" of the folder "07b_ppo"; "" if it is no lesson's.
std::string lesson_number_of(const std::string& folder);
// "7", "7b", "10": the order of the course.
struct InCourseOrder {
  bool operator()(const std::string& a, const std::string& b) const;
};
struct Progress {
  std::string learner;  // the environment variable POLICYGRAD_NAME when it was last set, or user@machine
  std::map<std::string, LessonState, InCourseOrder> lessons;  // by number
};

// Keeps the outcome of a check graded at `time`, and the remark on it.
void note_outcome(CheckHistory& history, const Outcome& outcome, int64_t time, const std::string& remark = "");
// POLICYGRAD_NAME, or else `known`, or else user@machine.
std::string learner_name(const std::string& known);

// Throws an exception if the text has another format. Records of older versions have neither learner nor history, and
// members that a newer version adds are left out.
Progress parse_progress(const std::string& text);
// Empty if there is no file. Throws Error if the file has another format.
Progress load_progress(const std::string& path);
std::string text_of(const Progress& progress);  // what parse_progress() reads
// Writes to a temporary file, syncs it and renames it.
void save_progress(const std::string& path, const Progress& progress);

std::string repository_root();
std::string read_file(const std::string& path);  // throws Error if it cannot be read
std::string hash_of(const std::string& text);    // 16 hex digits; detects edits
std::string now_text();
const char* name_of(State state);  // "ok", "WRONG", "TODO"

}  // namespace pg::kit

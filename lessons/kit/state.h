#pragma once
// The learner's saved progress, in .progress.json at the repository's root (ignored by git).
#include <map>
#include <set>
#include <string>

#include "lessons/kit/grader.h"

namespace pg::kit {

struct LessonState {
  std::string hash;                     // of the exercise when it was graded: after an edit the record is stale
  std::string when;                     // "2025-03-01 14:05", local time
  std::map<std::string, State> checks;  // by id
  std::map<std::string, int> hints;     // the last level shown, by check id
  std::set<std::string> solution_asked;
};
using Progress = std::map<int, LessonState>;

// Empty if there is no file. Throws Error if the file has another format.
Progress load_progress(const std::string& path);
// Writes to a temporary file, syncs it and renames it.
void save_progress(const std::string& path, const Progress& progress);

std::string repository_root();
std::string read_file(const std::string& path);  // throws Error if it cannot be read
std::string hash_of(const std::string& text);    // 16 hex digits
std::string now_text();
const char* name_of(State state);  // "ok", "WRONG", "TODO"

}  // namespace pg::kit

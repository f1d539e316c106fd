#pragma once
// What a lesson's program was built from. A program that does not hold the learner's present file grades nothing.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pg::kit {

struct Built {
  std::string root, folder, target;  // the repository, the build folder, "lesson3"
  std::string file;                  // in the build folder: what cmake/embed_exercise.cmake wrote
  std::string exercise;              // the text of the learner's file when it was compiled
};

// The file that cmake/embed_exercise.cmake writes for a lesson's own program has one of these.
struct RegisterBuilt {
  RegisterBuilt(const char* root, const char* folder, const char* target, const char* file, std::string_view exercise);
};
// nullptr in the stubs and mutants of the tests, which are not built from the learner's file and record nothing.
const Built* built();

// Why nothing is graded, in one sentence; the program ends with status 3.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Refused when the program is not where it was built: its tree was copied or moved, and it knows the old one.
void refuse_elsewhere();

// Builds the program again and runs it in place of this one, with `argv` and --rebuilt, when `exercise` (a path from
// the root) is not the one it was built from or a source beside it is newer. Throws Refused when that cannot be.
void rebuild_if_edited(const std::string& exercise, char** argv, bool rebuilt);
// Whether that would build it.
bool edited_since_build(const std::string& exercise);

// Runs a program in `folder`. True when it ended with status 0.
bool succeeds(const std::string& folder, const std::vector<std::string>& command);

}  // namespace pg::kit

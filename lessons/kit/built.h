#pragma once
// The sources that a lesson's program was built from. A program that was not built from the learner's current file
// grades nothing.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pg::kit {

struct Built {
  std::string root, folder, target;  // the repository, the build folder, "lesson3"
  std::string file;                  // in the build folder: the file written by cmake/embed_exercise.cmake
  std::string exercise;              // the text of the learner's file when it was compiled
};

// The file that cmake/embed_exercise.cmake writes for a lesson's program contains one of these.
struct RegisterBuilt {
  RegisterBuilt(const char* root, const char* folder, const char* target, const char* file, std::string_view exercise);
};
// nullptr in the stubs and mutants of the tests, which are not built from the learner's file and register nothing.
const Built* built();

// The reason, in one sentence, why nothing is graded. The program then ends with status 3.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws Refused if the program is not where it was built: its tree was copied or moved, but it has the old path.
void refuse_elsewhere();

// If `exercise` (a path from the root) is not the one this program was built from, or a source in its folder is newer:
// builds the program again and replaces this process by it, with `argv` and --rebuilt. Throws Refused if that fails.
// With `apart` the text of the build goes to the standard error.
void rebuild_if_edited(const std::string& exercise, char** argv, bool rebuilt, bool apart);
// Whether rebuild_if_edited() would build the program.
bool edited_since_build(const std::string& exercise);

// Builds the target of that name and replaces this process by its program, with `argv` and, if not empty, `flag`.
// Throws Refused with `otherwise` if it is not built. With `apart` the text of the build goes to the standard error.
[[noreturn]] void build_and_become(const std::string& target, char** argv, const std::string& flag, bool apart,
                                   const std::string& otherwise);

// Runs a program in `folder`. Returns whether it ended with status 0.
bool succeeds(const std::string& folder, const std::vector<std::string>& command);

}  // namespace pg::kit

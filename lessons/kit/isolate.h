#pragma once
// Runs a check in a separate process, so that a crash, an endless loop or a call of exit() is reported as WRONG.
#include <optional>
#include <string>

#include "lessons/kit/lesson.h"

namespace pg::kit {

// The time limit of the checks of one command. Each check has 8 s (40 s in a build without optimisation or with
// sanitizers; the environment variable POLICYGRAD_CHECK_SECONDS overrides both). Once a check has used up its time,
// each later check has a quarter of it, so n endless loops take at most 8 + 2·(n - 1) seconds.
class TimeLimit {
 public:
  TimeLimit();
  explicit TimeLimit(double seconds) : full_(seconds), seconds_(seconds) {}
  double seconds() const { return seconds_; }
  bool shortened() const { return seconds_ < full_; }
  void used_up() { seconds_ = full_ / 4; }

 private:
  double full_, seconds_;
};

// The memory limit of a check in bytes. There is no limit under sanitizers, in a build by nvcc, and on macOS.
constexpr int64_t kCheckMemory = int64_t{4} << 30;

// Grades the learner's piece, or the reference's. After a second it prints that the check is still running. With
// `shows_cases` it prints each case instead (Grader).
Outcome run_isolated(const CheckEntry& check, bool learner, TimeLimit& limit, bool shows_cases = false);
inline Outcome run_isolated(const CheckEntry& check, bool learner) {
  TimeLimit limit;
  return run_isolated(check, learner, limit);
}

// The same in this process, for a debugger: no limits, and a crash or exit() of the answer ends the program.
Outcome run_here(const CheckEntry& check, bool learner, bool shows_cases = false);

// Forks and continues in the child process, which shares the terminal. Returns nullopt in the child. In the parent it
// returns the child's status from waitpid after the child has ended.
std::optional<int> continue_in_child();
// Describes how a child ended unexpectedly: "a crash (Segmentation fault)", "a call of exit()".
std::string ending_of(int status);

}  // namespace pg::kit

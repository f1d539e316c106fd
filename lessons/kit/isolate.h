#pragma once
// Runs a check in a process of its own, so that a crash, an endless loop or a call of exit() is a WRONG like any other.
#include <optional>
#include <string>

#include "lessons/kit/lesson.h"

namespace pg::kit {

// How long the checks of one command may take. Each has 8 s (40 s in a build without optimisation or with sanitizers;
// the environment variable POLICYGRAD_CHECK_SECONDS overrides both). Once a check has used up its time, each one after
// it has a quarter of it, so n endless loops cost at most 8 + 2·(n - 1) seconds.
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

// The bytes of memory that a check may have; without a limit under sanitizers, in a build by nvcc, and on macOS.
constexpr int64_t kCheckMemory = int64_t{4} << 30;

// Grades the learner's piece, or the reference's. After a second it prints that the check is still running.
Outcome run_isolated(const CheckEntry& check, bool learner, TimeLimit& limit);
inline Outcome run_isolated(const CheckEntry& check, bool learner) {
  TimeLimit limit;
  return run_isolated(check, learner, limit);
}

// Goes on in a child process, which shares the terminal. Nothing in the child; in the parent, once the child has ended,
// its status as waitpid gives it.
std::optional<int> continue_in_child();
// How a child ended that was not meant to: "a crash (Segmentation fault)", "a call of exit()".
std::string ending_of(int status);

}  // namespace pg::kit

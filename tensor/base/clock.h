#pragma once
// Elapsed time, by a clock that is never set back, and processor time.
#include <chrono>
#include <ctime>
#include <utility>

namespace pg {

// Seconds since a moment that is the same for all calls of a process.
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
// Processor time of the calling thread in seconds, without the time it waited to be scheduled: for comparing speeds on
// machines under other load.
inline double thread_seconds() {
  timespec now{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return wall_seconds();  // WebAssembly has none
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// A stop-watch, which runs from its construction on.
class Timer {
 public:
  double seconds() const { return wall_seconds() - begin_; }
  // Seconds since the last lap, or since the beginning.
  double lap() {
    const double now = wall_seconds();
    return now - std::exchange(last_, now);
  }

 private:
  double begin_ = wall_seconds(), last_ = begin_;
};

}  // namespace pg

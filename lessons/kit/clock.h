#pragma once
// CPU time, for comparing speeds on machines under other load, and the time on the wall.
#include <chrono>
#include <ctime>

namespace pg::kit {

// CPU time of the calling thread in seconds, without the time it waited to be scheduled.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace pg::kit

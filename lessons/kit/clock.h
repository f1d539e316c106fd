#pragma once
// CPU time, for comparing speeds on machines under other load.
#include <ctime>

namespace pg::kit {

// CPU time of the calling thread in seconds, without the time it waited to be scheduled.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace pg::kit

#pragma once
// Time for comparing speeds on machines that do other things too.
#include <ctime>

namespace pg::kit {

// Processor time of the calling thread in seconds: what it computed, not how long it waited for its turn.
inline double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace pg::kit

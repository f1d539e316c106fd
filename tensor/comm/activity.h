#pragma once
// Whether another process does anything, for a rank that waits for it.
#include <array>
#include <chrono>
#include <string>

namespace pg {

// Where a process can be found, as bytes that ranks exchange.
struct ProcessAddress {
  std::array<char, 120> machine = {};  // the running system and its numbering of processes; empty if unknown
  int pid = 0;
};
ProcessAddress this_process();
// Whether it runs where this process can see what it does.
bool is_visible(const ProcessAddress& process);

// A text that changes while a process of this machine does something: uses processor time or waits for a disk; "" once
// it has ended. On other systems than Linux, and for pid 0, that cannot be seen, and the text always changes.
std::string activity_of(int pid);

// Watches a process of this machine by activity_of().
class ActivityWatch {
 public:
  // Looks at the process at most once in this many seconds.
  explicit ActivityWatch(int pid = 0, double interval = 0.2);
  // Seconds since it did something, or since the watch began.
  double idle_seconds();
  bool has_ended();
  double watched_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;
  int pid_;
  double interval_;
  Clock::time_point begin_, active_, looked_;
  std::string activity_ = "?";  // before the first look

  void look();
};

}  // namespace pg

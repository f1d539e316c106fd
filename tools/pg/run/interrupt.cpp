// Ctrl-C ends a run after its step.
#include "tools/pg/run/interrupt.h"

#include <csignal>

namespace pg {

namespace {
volatile std::sig_atomic_t caught = 0;  // the number of the signal

void on_signal(int number) {
  caught = number;
  std::signal(number, SIG_DFL);
}
}  // namespace

void catch_interrupt() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}
bool interrupted() { return caught != 0; }
int interrupt_status() { return 128 + caught; }

}  // namespace pg

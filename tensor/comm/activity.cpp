// Reads what the system says about a process.
#include "tensor/comm/activity.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>

#include "tensor/base/error.h"

namespace pg {
namespace {

double seconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

std::string activity_of(int pid) {
  const std::string unknown = fmt::format("{}", std::chrono::steady_clock::now().time_since_epoch().count());
#if defined(__linux__)
  // The state follows the name in parentheses; the times are the 12th and 13th field after it (proc(5)).
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text, word, times;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');
  if (pid == 0) return unknown;
  // Where the file cannot be read, perhaps because too many are open, only the system's word counts.
  if (name_end == std::string::npos) return ::kill(pid, 0) != 0 && errno == ESRCH ? "" : unknown;
  std::istringstream fields(text.substr(name_end + 1));
  for (int i = 0; fields >> word && i < 13; ++i) {
    if (i == 0 && word == "D") return unknown;
    if (i == 0 && (word == "Z" || word == "X")) return "";
    if (i >= 11) times += word + " ";
  }
  return times;
#else
  static_cast<void>(pid);
  return unknown;
#endif
}

ProcessAddress this_process() {
  ProcessAddress address{.pid = ::getpid()};
#if defined(__linux__)
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  char space[64] = {};
  if (boot.empty() || ::readlink("/proc/self/ns/pid", space, sizeof space - 1) <= 0) return address;
  const std::string machine = boot + " " + space;
  std::copy_n(machine.begin(), std::min(machine.size(), address.machine.size() - 1), address.machine.begin());
#endif
  return address;
}

bool is_visible(const ProcessAddress& process) {
  return process.pid > 0 && process.machine[0] != 0 && process.machine == this_process().machine;
}

ActivityWatch::ActivityWatch(int pid, double interval)
    : pid_(pid), interval_(interval), begin_(Clock::now()), active_(begin_), looked_(begin_) {}

double ActivityWatch::watched_seconds() const { return seconds(Clock::now() - begin_); }

void ActivityWatch::look() {
  const auto now = Clock::now();
  if (seconds(now - looked_) <= interval_) return;
  looked_ = now;
  if (std::string activity = activity_of(pid_); activity != activity_) {
    activity_ = std::move(activity);
    active_ = now;
  }
}

double ActivityWatch::idle_seconds() {
  look();
  return seconds(Clock::now() - active_);
}

bool ActivityWatch::has_ended() {
  look();
  return activity_.empty();
}

}  // namespace pg

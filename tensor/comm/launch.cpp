// Starts ranks as forked processes, and ends them all if one fails.
#include "tensor/comm/launch.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "tensor/base/error.h"
#include "tensor/comm/shared_group.h"
#include "tensor/comm/shared_rank.h"

namespace pg {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP};
volatile sig_atomic_t received[std::size(kForwarded)];  // how often

void on_signal(int number) {
  for (size_t i = 0; i < std::size(kForwarded); ++i) {
    if (kForwarded[i] == number) received[i] = received[i] + 1;
  }
}

// Passes the signals on to the ranks, which have a process group of their own, until it is destroyed.
class Forwarding {
 public:
  Forwarding() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    for (size_t i = 0; i < std::size(kForwarded); ++i) {
      received[i] = 0;
      sigaction(kForwarded[i], nullptr, &before_[i]);
      // An ignored SIGHUP means nohup; the shell ignores SIGINT for what it starts in the background.
      if (kForwarded[i] != SIGHUP || before_[i].sa_handler != SIG_IGN) sigaction(kForwarded[i], &action, nullptr);
    }
  }
  ~Forwarding() {
    for (size_t i = 0; i < std::size(kForwarded); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
  }
  void restore_in_child() const {
    for (size_t i = 0; i < std::size(kForwarded); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
  }
  void pass_on(const std::vector<pid_t>& running) {
    for (size_t i = 0; i < std::size(kForwarded); ++i) {
      for (; passed_[i] < received[i]; ++passed_[i]) {
        for (const pid_t pid : running) {
          if (pid > 0) kill(pid, kForwarded[i]);
        }
      }
    }
  }

 private:
  struct sigaction before_[std::size(kForwarded)];
  int passed_[std::size(kForwarded)] = {};
};

// The life of a rank's process; it does not return.
[[noreturn]] void be_rank(SharedGroup& group, int rank, const std::function<int(Comm&)>& work, pid_t parent) {
#if defined(__linux__)
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
#else
  static_cast<void>(parent);
#endif
  int status = 1;
  group.set_process(rank, getpid());
  try {
    status = work(*shared_memory_rank(group, rank));
  } catch (const std::exception& e) {
    group.set_sentence(rank, e.what());
    group.give_up(fmt::format("rank {} has failed: {}", rank, e.what()));
  }
  std::fflush(nullptr);
  _exit(status);
}

std::string description(int status) {
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  }
  return fmt::format("has ended with status {}", WEXITSTATUS(status));
}

}  // namespace

int run_ranks(int ranks, const std::function<int(Comm&)>& work, const RanksOptions& options, std::string* sentences) {
  SharedGroup* group = SharedGroup::create(ranks, options.timeout, options.longest);
  Forwarding signals;
  std::fflush(nullptr);  // otherwise each rank would write what is still in the buffers
  std::vector<pid_t> running(static_cast<size_t>(ranks), 0);
  const pid_t parent = getpid();
  int result = 0, left = 0;
  std::string failure;
  for (int r = 0; r < ranks && failure.empty(); ++r) {
    const pid_t pid = fork();
    if (pid == 0) {
      signals.restore_in_child();
      setpgid(0, r == 0 ? 0 : running[0]);
      be_rank(*group, r, work, parent);
    }
    if (pid < 0) {
      failure =
          fmt::format("ranks: the system could start only {} of {} processes: {}", r, ranks, std::strerror(errno));
      group->give_up(failure);
      break;
    }
    setpgid(pid, r == 0 ? pid : running[0]);  // whoever of the two comes first
    running[static_cast<size_t>(r)] = pid;
    ++left;
  }
  Clock::time_point deadline = Clock::time_point::max();
  const auto ends_soon = [&] {
    if (deadline != Clock::time_point::max()) return;
    deadline =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout));
  };
  if (!failure.empty()) ends_soon();
  while (left > 0) {
    signals.pass_on(running);
    bool changed = false;
    for (int r = 0; r < ranks; ++r) {
      pid_t& pid = running[static_cast<size_t>(r)];
      int status = 0;
      if (pid <= 0 || waitpid(pid, &status, WNOHANG) != pid) continue;
      pid = 0;
      --left;
      changed = true;
      const std::string how = description(status), sentence = group->sentence(r);
      const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
      // The reason comes first: a rank that sees only that this one has left gives that as its own reason.
      if (failed) group->give_up(fmt::format("rank {} {}", r, how));
      group->set_left(r);
      if (!failed) continue;
      if (sentences) *sentences += fmt::format("rank {}: {}\n", r, sentence.empty() ? how : sentence);
      if (result == 0) result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      ends_soon();
    }
    if (Clock::now() > deadline) {
      for (const pid_t pid : running) {
        if (pid > 0) kill(pid, SIGKILL);
      }
    }
    if (!changed) usleep(2000);
  }
  group->destroy();
  check(failure.empty(), "{}", failure);
  return result;
}

}  // namespace pg

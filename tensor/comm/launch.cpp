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

// The processes of the ranks.
class Processes {
 public:
  Processes(int ranks, const RanksOptions& options, std::string* sentences)
      : group_(SharedGroup::create(ranks, options.timeout, options.longest)),
        timeout_(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.timeout))),
        sentences_(sentences),
        running_(static_cast<size_t>(ranks), 0) {}

  void start(const std::function<int(Comm&)>& work) {
    std::fflush(nullptr);  // otherwise each rank would write what is still in the buffers
    const pid_t parent = getpid();
    const auto ranks = static_cast<int>(running_.size());
    for (int r = 0; r < ranks; ++r) {
      const pid_t pid = fork();
      if (pid == 0) {
        signals_.restore_in_child();
        setpgid(0, r == 0 ? 0 : running_[0]);
        be_rank(*group_, r, work, parent);
      }
      if (pid < 0) {
        failure_ =
            fmt::format("ranks: the system could start only {} of {} processes: {}", r, ranks, std::strerror(errno));
        group_->give_up(failure_);
        return ends_soon();
      }
      setpgid(pid, r == 0 ? pid : running_[0]);  // whoever of the two comes first
      running_[static_cast<size_t>(r)] = pid;
      ++left_;
    }
  }

  // Waits for all of them. Returns the exit status.
  int wait() {
    while (left_ > 0) {
      signals_.pass_on(running_);
      bool changed = false;
      for (size_t r = 0; r < running_.size(); ++r) {
        int status = 0;
        if (running_[r] <= 0 || waitpid(running_[r], &status, WNOHANG) != running_[r]) continue;
        ended(static_cast<int>(r), status);
        changed = true;
      }
      if (Clock::now() > deadline_) {
        for (const pid_t pid : running_) {
          if (pid > 0) kill(pid, SIGKILL);
        }
      }
      if (!changed) usleep(2000);
    }
    group_->destroy();
    check(failure_.empty(), "{}", failure_);
    return result_;
  }

 private:
  void ends_soon() {
    if (deadline_ == Clock::time_point::max()) deadline_ = Clock::now() + timeout_;
  }

  void ended(int rank, int status) {
    running_[static_cast<size_t>(rank)] = 0;
    --left_;
    const std::string how = description(status), sentence = group_->sentence(rank);
    const bool failed = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    // The reason comes first: a rank that sees only that this one has left gives that as its own reason.
    if (failed) group_->give_up(fmt::format("rank {} {}", rank, how));
    group_->set_left(rank);
    if (!failed) return;
    if (sentences_) *sentences_ += fmt::format("rank {}: {}\n", rank, sentence.empty() ? how : sentence);
    if (result_ == 0) result_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    ends_soon();
  }

  SharedGroup* group_;
  const Clock::duration timeout_;
  std::string* sentences_;
  std::vector<pid_t> running_;  // 0: it has ended
  Forwarding signals_;
  int result_ = 0, left_ = 0;
  std::string failure_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace

int run_ranks(int ranks, const std::function<int(Comm&)>& work, const RanksOptions& options, std::string* sentences) {
  Processes processes(ranks, options, sentences);
  processes.start(work);
  return processes.wait();
}

}  // namespace pg

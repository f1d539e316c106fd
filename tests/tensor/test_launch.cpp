// Ranks that die, hang, throw or leave: every other one ends, with a sentence that names the rank and the collective.
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <functional>
#include <string>

#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tests/catch.h"
#include "tests/tensor/ranks.h"

using namespace pg;

namespace {

struct Ended {
  int status = 0;
  std::string sentences;
  double seconds = 0;
};

// Three ranks; rank 1 does `mischief` after two collectives, the others go on to the next one.
Ended with_rank_1(testing::Transport transport, const std::function<int(Comm&)>& mischief, double timeout = 20) {
  Ended ended;
  const auto start = std::chrono::steady_clock::now();
  ended.status = testing::run_on(
      transport, 3,
      [&](Comm& comm) {
        const Tensor x = Tensor::ones({1000});
        comm.barrier();
        comm.all_reduce(x);
        if (comm.rank() == 1) return mischief(comm);
        comm.all_reduce(x);
        return 0;
      },
      {.timeout = timeout}, &ended.sentences);
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // No process is left, not even a zombie.
  const bool none = waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
  REQUIRE(none);
  return ended;
}

// The status is that of the rank that ended first. Ranks that do not need the starting process see themselves that a
// rank has ended, so they may end with status 1 before that process has seen why.
void first_is(int status, int expected, testing::Transport transport) {
  const bool as_expected = status == expected || (transport != testing::Transport::shared_memory && status == 1);
  INFO(status);
  REQUIRE(as_expected);
}

// Rank 1 leaves call 2 with its result. A rank that still waits in that call for the third one may hear the reason from
// it there, so it names the call it is in.
void others_say(const Ended& ended, const std::string& text) {
  INFO(ended.sentences);
  for (const int rank : {0, 2}) {
    const auto said_in = [&](int call) {
      return testing::contains(
          ended.sentences,
          fmt::format("rank {0}: rank {0}: all_reduce of 1000 f32, call {1}: rank 1 {2}", rank, call, text));
    };
    const bool said = said_in(2) || said_in(3);
    REQUIRE(said);
  }
}

}  // namespace

TEST_CASE("a rank that is killed ends the others", "[comm]") {
  const testing::Transport transport = testing::kTransports[GENERATE(0, 1, 2, 3)];
  const Ended ended = with_rank_1(transport, [](Comm&) { return raise(SIGKILL); });
  first_is(ended.status, 128 + SIGKILL, transport);
  REQUIRE(ended.seconds < 10);
  others_say(ended, transport == testing::Transport::shared_memory ? "was ended by signal 9" : "has ended and does");
}

TEST_CASE("a rank that exits with a status ends the others", "[comm]") {
  const testing::Transport transport = testing::kTransports[GENERATE(0, 1, 2, 3)];
  const Ended ended = with_rank_1(transport, [](Comm&) { return 7; });
  first_is(ended.status, 7, transport);
  others_say(ended, transport == testing::Transport::shared_memory ? "has ended with status 7" : "has ended and does");
}

TEST_CASE("a rank that returns while it is needed ends the others", "[comm]") {
  const testing::Transport transport = testing::kTransports[GENERATE(0, 1, 2, 3)];
  const Ended ended = with_rank_1(transport, [](Comm&) { return 0; });
  REQUIRE(ended.status == 1);
  others_say(ended, "has ended and does not take part");
}

TEST_CASE("a rank that throws ends the others and they repeat its sentence", "[comm]") {
  const testing::Transport transport = testing::kTransports[GENERATE(0, 1, 2, 3)];
  const Ended ended = with_rank_1(transport, [](Comm&) -> int { fail("the moon is full"); });
  REQUIRE(ended.status == 1);
  others_say(ended, "has failed: the moon is full");
  REQUIRE(ended.sentences.find("rank 1: the moon is full") != std::string::npos);
}

TEST_CASE("a rank that computes for long is waited for and one that sleeps is not", "[comm]") {
  const testing::Transport transport = testing::kTransports[GENERATE(0, 1, 2, 3)];
  const auto ranks_with = [&](const std::function<void()>& work, double longest) {
    std::string sentences;
    testing::run_on(
        transport, 2,
        [&](Comm& comm) {
          comm.barrier();
          if (comm.rank() == 1) work();
          comm.barrier();
          return 0;
        },
        {.timeout = 0.3, .longest = longest}, &sentences);
    return sentences;
  };
  const auto compute = [] {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  // Over sockets no rank sees what another one does.
  if (transport == testing::Transport::sockets) {
    CHECK(testing::contains(ranks_with(compute, 100), "rank 1 did not come within 0.3 s"));
    return;
  }
  CHECK(ranks_with(compute, 100).empty());
  CHECK(testing::contains(ranks_with(compute, 0.5), "rank 1 did not come within 0.5 s"));
  CHECK(testing::contains(ranks_with([] { usleep(1500000); }, 100),
                          "rank 1 has not come and has done nothing for 0.3 s"));
}

TEST_CASE("a rank that hangs is named after the timeout and killed", "[comm]") {
  const testing::Transport transport = testing::kTransports[GENERATE(0, 1, 2, 3)];
  const auto stop = [](Comm&) { return raise(SIGSTOP); };
  const Ended ended = with_rank_1(transport, stop, 0.3);
  REQUIRE(ended.status == 1);
  REQUIRE(ended.seconds >= 0.3);
  others_say(ended, transport == testing::Transport::sockets ? "did not come within 0.3 s"
                                                             : "has not come and has done nothing for 0.3 s");
  REQUIRE(ended.sentences.find("rank 1: was ended by signal 9") != std::string::npos);
}

TEST_CASE("a rank of another machine is named once it has sent nothing for the timeout", "[comm]") {
  const auto stop = [](Comm&) { return raise(SIGSTOP); };
  const Ended ended = with_rank_1(testing::Transport::messages_of_machines, stop, 0.5);
  REQUIRE(ended.status == 1);
  REQUIRE(ended.seconds >= 0.5);
  others_say(ended, "did not come within 0.5 s");
}

TEST_CASE("ranks that are killed at random moments leave no process and no wrong success", "[comm]") {
  Generator moments(11);
  for (int i = 0; i < 60; ++i) {
    const testing::Transport transport = testing::kTransports[i % 5];
    const int victim = static_cast<int>(moments.integer(3));
    const auto microseconds = static_cast<suseconds_t>(1 + moments.integer(4000));
    std::string sentences;
    const int status = testing::run_on(
        transport, 3,
        [&](Comm& comm) {
          if (comm.rank() == victim) {  // SIGALRM ends a process that has no handler for it
            const itimerval timer{{0, 0}, {0, microseconds}};
            setitimer(ITIMER_REAL, &timer, nullptr);
          }
          const Tensor x = Tensor::ones({100000});
          for (;;) comm.all_reduce(x);
          return 0;
        },
        {.timeout = 20}, &sentences);
    INFO(sentences);
    first_is(status, 128 + SIGALRM, transport);
    REQUIRE(sentences.find(fmt::format("rank {}: was ended by signal {}", victim, SIGALRM)) != std::string::npos);
    REQUIRE(std::count(sentences.begin(), sentences.end(), '\n') == 3);
    REQUIRE(waitpid(-1, nullptr, WNOHANG) == -1);
  }
}

namespace {
volatile sig_atomic_t asked_to_stop = 0;

// Ranks that go on until one of them has been asked to stop; the file is closed when the last one has ended.
int work_until_asked(int file) {
  return run_ranks(2, [&](Comm& comm) {
    signal(SIGTERM, [](int) { asked_to_stop = 1; });
    const char ready = 'r';
    if (write(file, &ready, 1) != 1) return 2;
    for (;;) {
      const Tensor stop = Tensor::full({1}, asked_to_stop, f64);
      comm.all_reduce(stop);
      if (stop.item() > 0) return 0;
      usleep(1000);
    }
  });
}

// Starts work_until_asked() in a process, sends it `number` once both ranks run, and waits until all have ended.
int status_after(int number) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    _exit(work_until_asked(ends[1]));
  }
  close(ends[1]);
  char ready[2];
  REQUIRE(read(ends[0], ready, 1) == 1);
  REQUIRE(read(ends[0], ready, 1) == 1);
  kill(pid, number);
  int status = 0;
  REQUIRE(waitpid(pid, &status, 0) == pid);
  REQUIRE(read(ends[0], ready, 1) == 0);  // the end of the file: no rank has it open
  close(ends[0]);
  return status;
}
}  // namespace

TEST_CASE("a signal to the starting process reaches the ranks", "[comm]") {
  const int status = status_after(SIGTERM);
  REQUIRE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("ranks end when the starting process is killed", "[comm]") {
  const int status = status_after(SIGKILL);
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

TEST_CASE("run_ranks refuses a number of ranks that it cannot start", "[comm]") {
  const auto nothing = [](Comm&) { return 0; };
  REQUIRE(testing::contains(testing::error_of([&] { run_ranks(0, nothing); }), "expected 1 to 64, got 0"));
  REQUIRE(testing::contains(testing::error_of([&] { run_ranks(65, nothing); }), "got 65"));
  REQUIRE(testing::contains(testing::error_of([&] { run_ranks(2, nothing, {.timeout = 0}); }), "timeout"));
  REQUIRE(run_ranks(64, nothing) == 0);
}

// Commands on several ranks: the errors of ranks, restarts, agreement, and that nothing is left behind.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tensor/base/error.h"
#include "tests/catch.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/run/ranks.h"

using namespace pg;
using namespace pg::tools;
using pg::testing::error_of;
using pg::testing::TempDir;

namespace {

// Runs the command without its remarks; the error of the ranks, or the exit status.
std::string outcome(const RankOptions& options, RunOptions& run, const std::function<int(Comm&)>& command) {
  std::string result;
  try {
    result = fmt::format("status {}", run_on_ranks(options, "cpu", run, command));
  } catch (const std::exception& e) {
    result = e.what();
  }
  const bool none = waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD;
  REQUIRE(none);  // no process is left, not even a zombie
  return result;
}
std::string outcome(const RankOptions& options, const std::function<int(Comm&)>& command) {
  RunOptions run;
  return outcome(options, run, command);
}

}  // namespace

TEST_CASE("ranks: the error is that of the rank that failed, once", "[pg][ranks]") {
  for (const int guilty : {0, 1, 2}) {
    const std::string said = outcome({.ranks = 3}, [&](Comm& comm) {
      comm.barrier();
      check(comm.rank() != guilty, "the moon is full");
      comm.barrier();
      return 0;
    });
    REQUIRE(said == fmt::format("rank {}: the moon is full", guilty));
  }
  REQUIRE(outcome({.ranks = 2}, [](Comm& comm) -> int {
            if (comm.rank() == 1) throw std::bad_alloc();
            comm.barrier();
            return 0;
          }) == "rank 1: out of memory; take a smaller model, batch, context or file");
  REQUIRE(outcome({.ranks = 3}, [](Comm& comm) {
            if (comm.rank() == 1) raise(SIGKILL);
            comm.barrier();
            return 0;
          }) == "rank 1: was ended by signal 9 (Killed)");
}

TEST_CASE("ranks: a status is returned once all ranks have ended their work", "[pg][ranks]") {
  REQUIRE(outcome({.ranks = 3}, [](Comm& comm) {
            if (comm.rank() == 0) usleep(300000);
            return 130;
          }) == "status 130");
  REQUIRE(outcome({.ranks = 1}, [](Comm& comm) { return comm.size(); }) == "status 1");
  // A signal that requests an end is no failure, and starts nothing again. In the background of a script it is ignored.
  signal(SIGINT, SIG_DFL);
  REQUIRE(outcome({.ranks = 2, .restarts = 5}, [](Comm& comm) {
            if (comm.rank() == 1) raise(SIGINT);
            comm.barrier();
            return 0;
          }) == "status 130");
}

TEST_CASE("ranks: all start again from the run's folder", "[pg][ranks]") {
  const TempDir temp;
  // Rank `guilty` fails in the first `failures` lives, once the run exists if it is `late`.
  const auto lives = [&](int restarts, int failures, bool late, bool by_signal) {
    const std::string name = fmt::format("{}{}{}{}", restarts, failures, late, by_signal);
    RunOptions run{.out = (temp.path / name).string()};
    const std::string said = outcome({.ranks = 2, .restarts = restarts}, run, [&](Comm& comm) {
      OpenedRun opened = open_run(comm, run.resume);
      const bool resumed = !run.resume.empty();
      check(late || comm.rank() == 0, "too early");
      comm.barrier();  // a command compares the configurations before it makes a folder
      const auto folder = start_run(comm, std::move(opened.folder), 0, run.out, "x");
      if (folder.has_value() != (comm.rank() == 0)) return 8;
      if (folder && resumed && folder->path() != run.resume) return 9;
      comm.barrier();
      // Life number n has n - 1 lines in the file of the folder's parent.
      const std::string path = run.out + "/lives";
      const auto before = std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0;
      comm.barrier();
      if (comm.rank() == 1) {
        write_file_atomically(path, std::string(before + 1, 'x'));
        if (static_cast<int>(before) < failures) {
          check(by_signal, "an unlucky step");
          raise(SIGKILL);
        }
      }
      comm.barrier();
      return 0;
    });
    int folders = 0;
    if (std::filesystem::exists(run.out)) {
      for (const auto& entry : std::filesystem::directory_iterator(run.out)) folders += entry.is_directory();
    }
    return fmt::format("{}, {} folders", said, folders);
  };
  REQUIRE(lives(2, 2, true, true) == "status 0, 1 folders");
  REQUIRE(lives(2, 2, true, false) == "status 0, 1 folders");
  REQUIRE(lives(1, 2, true, true) == "rank 1: was ended by signal 9 (Killed), 1 folders");
  REQUIRE(lives(0, 1, true, false) == "rank 1: an unlucky step, 1 folders");
  REQUIRE(lives(3, 0, false, false) == "rank 1: too early, 0 folders");  // a configuration, not an accident
}

TEST_CASE("ranks: a step has work for each rank unless its parts are given", "[pg][ranks]") {
  TrainConfig train;
  int64_t micro_batch = 0;
  const Command command{.name = "teach",
                        .about = "",
                        .fields = {{"accumulate", &train.micro_batches, ""}, {"micro-batch", &micro_batch, ""}},
                        .run = {}};
  const Given nothing(command, {}), both(command, {{"accumulate", "3"}, {"micro-batch", "9"}});
  settle_batches(train, {.ranks = 3}, both);
  settle_micro_batch(micro_batch, 10, {.ranks = 3}, both);
  REQUIRE(train.micro_batches == 3);
  REQUIRE(micro_batch == 9);
  REQUIRE(error_of([&] { settle_batches(train, {.ranks = 4}, both); }) ==
          "teach: each of the 4 ranks needs a batch in every step, but --accumulate is 3; take at most 3 ranks, or "
          "--accumulate 4 or more");
  settle_batches(train, {.ranks = 3, .zero = 3}, both);
  REQUIRE(error_of([&] { settle_batches(train, {.ranks = 2, .zero = 3}, both); }) ==
          "teach: with --zero 3 all ranks compute equally many batches, but --accumulate 3 is no multiple of 2 ranks");
  settle_batches(train, {.ranks = 4}, nothing);
  REQUIRE(train.micro_batches == 4);
  micro_batch = 0;
  settle_micro_batch(micro_batch, 10, {.ranks = 1}, nothing);
  REQUIRE(micro_batch == 0);  // one rank computes a batch at once
  settle_micro_batch(micro_batch, 10, {.ranks = 3}, nothing);
  REQUIRE(micro_batch == 4);
  settle_micro_batch(micro_batch, 2, {.ranks = 3}, nothing);
  REQUIRE(micro_batch == 1);
}

TEST_CASE("ranks: what one knows all know", "[pg][ranks]") {
  REQUIRE(outcome({.ranks = 3}, [](Comm& comm) {
            for (int one = 0; one < 3; ++one) {
              if (!agreed(comm, comm.rank() == one)) return 1;
            }
            if (agreed(comm, false)) return 2;
            catch_interrupt();
            if (interrupted_anywhere(comm)) return 3;
            if (comm.rank() == 2) raise(SIGTERM);
            if (!interrupted_anywhere(comm) || !interrupted()) return 4;
            return interrupt_status();
          }) == "status 143");
}

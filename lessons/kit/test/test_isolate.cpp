// Tests that whatever an answer does to its process is reported, and that the next check still runs.
#include <unistd.h>

#include <cassert>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "lessons/kit/commands.h"
#include "lessons/kit/isolate.h"
#include "tests/catch.h"

using namespace pg;
using namespace pg::kit;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

using Run = std::function<void(Grader&, bool)>;

Outcome outcome_of(const Run& run, double seconds = 30) {
  CheckEntry check;
  check.id = "01.1";
  check.run = run;
  TimeLimit limit(seconds);
  return run_isolated(check, true, limit);
}

void is_wrong(const Run& run, const std::string& got, const std::string& diagnosis) {
  const Outcome outcome = outcome_of(run);
  INFO(outcome.failure.got << " | " << outcome.diagnosis);
  CHECK(outcome.state == State::wrong);
  CHECK(outcome.failure.got.find(got) != std::string::npos);
  CHECK(outcome.diagnosis.find(diagnosis) != std::string::npos);
  CHECK(outcome.cases.size() == 1);
  CHECK(outcome.crashed == outcome.failure.got.starts_with("a crash"));
}

int deeper(volatile int* x) {
  volatile int here[64] = {*x};
  return *x == 0 ? 0 : deeper(here) + here[1];
}

volatile int changing = 1;
void loop() {
  while (changing) {
  }
}

void no_exception_leaves(const std::function<void()>& call) noexcept { call(); }

// What a command prints on the process's standard output.
std::string printed(const std::function<void()>& call) {
  std::fflush(stdout);
  const auto path = std::filesystem::temp_directory_path() / ("policygrad_isolate_" + std::to_string(getpid()));
  const int before = dup(STDOUT_FILENO);
  REQUIRE(std::freopen(path.c_str(), "w", stdout));
  call();
  std::fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  const std::string text = read_file(path.string());
  std::filesystem::remove(path);
  return text;
}

}  // namespace

TEST_CASE("an answer that ends the program is a WRONG that says so", "[kit]") {
  is_wrong([](Grader&, bool) { std::exit(0); }, "the answer ended the program", "exit()");
  is_wrong([](Grader&, bool) { std::exit(3); }, "the answer ended the program", "exit()");
  is_wrong([](Grader&, bool) { std::quick_exit(0); }, "the answer ended the program", "exit()");
  is_wrong([](Grader&, bool) { _exit(0); }, "the answer ended the program, with status 0", "exit()");
  is_wrong([](Grader&, bool) { _exit(3); }, "the answer ended the program, with status 3", "exit()");
}

TEST_CASE("crashes of an answer are told apart", "[kit]") {
  is_wrong([](Grader&, bool) { std::raise(SIGKILL); }, "a crash", "memory ran out");
  if (kSanitized) SKIP_TEST("a sanitizer reports what follows itself");
  is_wrong([](Grader&, bool) { std::abort(); }, "a crash (Aborted)", "failed assert");
  is_wrong([](Grader&, bool) { no_exception_leaves([] { throw 42; }); }, "a crash (Aborted)",
           "where none can be caught");
  is_wrong([](Grader&, bool) { std::raise(SIGFPE); }, "a crash", "divided by zero");
  is_wrong(
      [](Grader&, bool) {
        volatile int* nowhere = nullptr;
        *nowhere = 1;
      },
      "a crash (Segmentation fault)", "an index outside its memory");
  is_wrong(
      [](Grader&, bool) {
        volatile int x = 1;
        x = deeper(&x);
      },
      "a crash (stack overflow)", "calls itself without end");
  is_wrong(
      [](Grader&, bool) {
        std::thread([] { *reinterpret_cast<volatile int*>(static_cast<uintptr_t>(changing)) = 1; }).join();
      },
      "a crash (Segmentation fault)", "an index outside its memory");
}

TEST_CASE("whatever an answer throws is named by its type or its text", "[kit]") {
  is_wrong([](Grader&, bool) { throw 42; }, "an exception of type int", "no std::exception");
  is_wrong([](Grader&, bool) { throw "text"; }, "an exception of type char const*", "no std::exception");
  is_wrong([](Grader&, bool) { static_cast<void>(std::vector<int>(3).at(7)); }, "an exception: vector", "");
  const Outcome failed_before = outcome_of([](Grader& g, bool) {
    g.equal("first", 1.0, 2.0);
    throw 42;
  });
  CHECK(failed_before.failure.input == "first");
}

TEST_CASE("an answer that eats memory meets a limit", "[kit]") {
  if (kSanitized) SKIP_TEST("sanitizers reserve far more memory than the limit");
#ifdef __linux__
  is_wrong(
      [](Grader&, bool) {
        std::vector<char*> blocks;
        for (;;) blocks.push_back(new char[size_t{64} << 20]);  // never written to, so it uses no physical memory
      },
      "bad_alloc", "more memory was asked for than a check may use (4 GB)");
#endif
  CHECK(outcome_of([](Grader& g, bool) {
          g.equal("128 MB", double(std::vector<char*>(1 << 24).size()), 1 << 24);
        }).state == State::ok);
}

TEST_CASE("an answer that reads its input or closes everything does not stop the grading", "[kit]") {
  CHECK(outcome_of([](Grader& g, bool) { g.equal("end of file", double(std::getchar()), -1.0); }).state == State::ok);
  const Outcome outcome = outcome_of(
      [](Grader&, bool) {
        for (int file = 3; file < 64; ++file) close(file);
        loop();
      },
      0.2);
  CHECK(outcome.failure.got == "no end after 0.2 seconds");
}

TEST_CASE("endless loops share the time of one command, and say that they still run", "[kit]") {
  std::vector<CheckEntry> checks(4);
  for (size_t i = 0; i < checks.size(); ++i) {
    checks[i].id = "03." + std::to_string(i + 1);
    checks[i].run = [](Grader&, bool) { loop(); };
  }
  std::vector<Outcome> outcomes;
  TimeLimit limit(1.2);
  const std::string text = printed([&] {
    for (const CheckEntry& check : checks) outcomes.push_back(run_isolated(check, true, limit));
  });
  CHECK(text == "  still running 03.1 ...\n");
  CHECK(outcomes[0].failure.got == "no end after 1.2 seconds");
  double seconds = 0;
  for (const Outcome& outcome : outcomes) {
    CHECK(outcome.state == State::wrong);
    CHECK(outcome.diagnosis.find("a loop that never ends") != std::string::npos);
    seconds += outcome.seconds;
  }
  CHECK(outcomes[3].failure.got == "no end after 0.3 seconds");
  CHECK(outcomes[3].diagnosis.find("check 03.4 alone") != std::string::npos);
  CHECK(seconds < 1.2 + 3 * 0.3 + 2);  // 2 s of tolerance for a busy machine
  unsetenv("POLICYGRAD_CHECK_SECONDS");
  CHECK(TimeLimit().seconds() == (optimized_build() ? 8 : 40));
}

TEST_CASE("what an answer prints stands above its case and before its crash", "[kit]") {
  int calls = 0;
  const Run run = [&](Grader& g, bool) {
    for (const double want : {1.0, 2.0, 0.0, 4.0}) {
      print("call", ++calls);
      if (!g.equal(fmt::format("x = {}", calls), double(calls), want)) print("after the first WRONG");
    }
  };
  const std::string cases =
      "call 1\n"
      "  case 1   ok    x = 1\n"
      "call 2\n"
      "  case 2   ok    x = 2\n"
      "call 3\n"
      "  case 3   WRONG x = 3\n";
  CheckEntry check;
  check.run = run;
  Outcome outcome;
  TimeLimit limit(30);
  CHECK(printed([&] { outcome = run_isolated(check, true, limit, true); }) == cases);
  CHECK(outcome.state == State::wrong);
  CHECK(outcome.failure.input == "x = 3");
  CHECK(calls == 0);  // another process made them
  CHECK(printed([&] { outcome = run_here(check, true, true); }) == cases);
  CHECK(outcome.failure.input == "x = 3");
  CHECK(calls == 3);
  calls = 0;
  CHECK(printed([&] { run_here(check, true); }) ==
        "call 1\ncall 2\ncall 3\nafter the first WRONG\ncall 4\nafter the first WRONG\n");

  check.run = [](Grader&, bool) {
    std::printf("a line of printf\n");
    print(Tensor::scalar(2));
    _exit(3);
  };
  CHECK(printed([&] { outcome = run_isolated(check, true, limit); }) == "a line of printf\n[] f32: 2\n");
  CHECK(outcome.state == State::wrong);
}

TEST_CASE("a long title has a line of its own", "[kit]") {
  LessonEntry lesson{"1", "lessons/kit", "test", "kit.cpp", {}, {}, {}};
  lesson.exercise_file = "README.md";
  for (const char* title : {"short", "a title of thirty-five characters..",
                            "one that is far longer than any column "
                            "of the table could ever be"}) {
    CheckEntry check;
    check.id = "01." + std::to_string(lesson.checks.size() + 1);
    check.title = title;
    check.run = [](Grader& g, bool) { g.note("noted"); };
    lesson.checks.push_back(check);
  }
  const std::string text = printed([&] { check_command(lesson, {.names = {}, .reference = true, .record = false}); });
  INFO(text);
  std::istringstream lines(text);
  std::vector<size_t> columns;
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find("noted"); at != std::string::npos) columns.push_back(at);
  }
  CHECK(columns.size() == 3);
  CHECK(std::set<size_t>(columns.begin(), columns.end()).size() == 1);
}

TEST_CASE("a mutant is judged where the build has what it needs", "[kit]") {
  CheckEntry check;
  check.id = "01.1";
  check.piece = "f";
  check.run = [](Grader& g, bool) { g.note("right"); };
  const LessonEntry plain{"1", "", "", "", {check}, {}, {}};
  check.run = [](Grader& g, bool) { g.expect(false, "1 + 1", "3", "2", "the sum is too large"); };
  LessonEntry with_simulator{"1", "", "", "", {check}, {}, {}};
  with_simulator.checks_accesses = [] { return true; };
  int status = 0;
  const auto run = [&](const LessonEntry& lesson, const std::string& needs) {
    const MutantRow row{"sum_too_large", "01.1", "the sum is too large", "", needs};
    return printed([&] { status = run_mutants(plain, {{row, lesson}}); });
  };
  const auto says = [](const std::string& text, const std::string& words) {
    INFO(text);
    CHECK(text.find(words) != std::string::npos);
  };

  says(run(with_simulator, "simulator"), "1 mutants, 0 wrongly graded, 0 that");
  CHECK(status == 0);
  says(run(plain, ""), "sum_too_large: 01.1 is ok, expected WRONG");
  CHECK(status == 1);
  says(run(plain, "simulator"), "1 mutants, 0 wrongly graded, 1 that");
  CHECK(status == 0);
  says(run(plain, "luck"), "what the mutant needs: expected speed, simulator, got \"luck\"");
  CHECK(status == 1);

  LessonEntry elsewhere = plain;
  elsewhere.unavailable = [] { return "There is no GPU here."; };
  says(printed([&] { status = run_mutants(elsewhere, {}); }), "There is no GPU here.");
  CHECK(status == kUnavailable);
}

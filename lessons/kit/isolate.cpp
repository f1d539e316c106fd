// Runs a check in a child process with time and memory limits.
#include "lessons/kit/isolate.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "lessons/kit/terminal.h"
#include "tensor/base/clock.h"
#include "tensor/base/json.h"
#include "tensor/storage.h"

namespace pg::kit {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// Sanitizers and the GPU driver reserve large amounts of address space.
#ifdef POLICYGRAD_NVCC
constexpr bool kLimitsMemory = false;
#else
constexpr bool kLimitsMemory = !kSanitized;
#endif

// The first byte sent by the child: a result follows, or it says how the child ended if the exit status does not.
constexpr char kResult = 'R', kExit = 'E', kStackOverflow = 'S';

Json to_json(const Case& c) {
  return {{"input", c.input}, {"got", c.got},         {"want", c.want},
          {"row", c.row},     {"got_row", c.got_row}, {"want_row", c.want_row}};
}
Case case_from(const Json& json) {
  const auto text = [&](const char* key) { return json.at(key).text(); };
  return {text("input"), text("got"), text("want"), text("row"), text("got_row"), text("want_row")};
}

std::string pack(const Outcome& outcome) {
  Json cases = Json::array();
  for (const Case& c : outcome.cases) cases.push_back(to_json(c));
  const Json json = {{"state", static_cast<int>(outcome.state)}, {"note", outcome.note},
                     {"diagnosis", outcome.diagnosis},           {"drawn", outcome.drawn},
                     {"failure", to_json(outcome.failure)},      {"cases", cases}};
  // A learner's memory may contain anything: invalid UTF-8 must not stop the report.
  return json.dump(-1, Json::Utf8::replace);
}
// nullopt if the child ended before it had sent everything.
std::optional<Outcome> unpack(const std::string& text) {
  if (text.empty() || text[0] != kResult) return {};
  const Json json = Json::try_parse(std::string_view(text).substr(1));
  if (json.is_discarded()) return {};
  Outcome outcome;
  outcome.state = static_cast<State>(json.at("state").get<int>());
  outcome.note = json.at("note").text();
  outcome.diagnosis = json.at("diagnosis").text();
  outcome.drawn = json.at("drawn").get<bool>();
  outcome.failure = case_from(json.at("failure"));
  for (const Json& c : json.at("cases")) outcome.cases.push_back(case_from(c));
  return outcome;
}

// ---- the child

int report = -1;  // the pipe to the parent
const char* stack_base = nullptr;
size_t stack_size = 0;

void say(char what) {
  if (::write(report, &what, 1) != 1) _exit(70);
}

const char* stack_pointer([[maybe_unused]] void* context, [[maybe_unused]] const siginfo_t* info) {
#if defined(__linux__) && defined(__x86_64__)
  return reinterpret_cast<const char*>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RSP]);
#elif defined(__linux__) && defined(__aarch64__)
  return reinterpret_cast<const char*>(static_cast<ucontext_t*>(context)->uc_mcontext.sp);
#else
  return static_cast<const char*>(info->si_addr);
#endif
}

// The stack counts as full if its pointer is in the last eighth or past the end, because arguments and environment use
// a part of it too. Stacks of other threads are much farther away. The default action ends the program afterwards.
void on_fault(int, siginfo_t* info, void* context) {
  constexpr size_t kPast = 64 << 20;  // Linux leaves 128 MB between the stack and other memory
  const ptrdiff_t depth = stack_base - stack_pointer(context, info);
  const bool full = depth > static_cast<ptrdiff_t>(stack_size - stack_size / 8);
  if (full && depth < static_cast<ptrdiff_t>(stack_size + kPast)) say(kStackOverflow);
}

void watch_stack() {
  static char other_stack[64 << 10];  // the handler cannot run on the full stack
  char here = 0;
  stack_base = &here;
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  constexpr rlim_t kUsual = 8 << 20;
  if (limit.rlim_cur == RLIM_INFINITY) {
    limit.rlim_cur = kUsual;
    setrlimit(RLIMIT_STACK, &limit);
  }
  stack_size = limit.rlim_cur;
  stack_t stack{};
  stack.ss_sp = other_stack;
  stack.ss_size = sizeof other_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS}) sigaction(signal, &action, nullptr);
}

void limit_memory(bool on) {
#ifdef RLIMIT_DATA
  rlimit limit{};
  getrlimit(RLIMIT_DATA, &limit);
  limit.rlim_cur = on ? std::min<rlim_t>(limit.rlim_max, kCheckMemory) : limit.rlim_max;
  setrlimit(RLIMIT_DATA, &limit);
#endif
}

[[noreturn]] void run_child(const CheckEntry& check, bool learner, double seconds, bool shows_cases) {
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // what the answer prints is there before it crashes
  alarm(static_cast<unsigned>(seconds) + 10);     // in case the parent no longer exists
  if (const int nothing = ::open("/dev/null", O_RDONLY); nothing >= 0) dup2(nothing, STDIN_FILENO);
  const auto exited = [] {
    std::fflush(nullptr);
    say(kExit);
    _exit(0);
  };
  std::atexit(exited);
  std::at_quick_exit(exited);
  for (const int signal : {SIGABRT, SIGFPE, SIGILL}) std::signal(signal, SIG_DFL);
  if (!kSanitized) watch_stack();  // a sanitizer gives a better message
  if (kLimitsMemory) limit_memory(true);
  const Outcome outcome = run_here(check, learner, shows_cases);
  if (kLimitsMemory) limit_memory(false);
  const std::string text = kResult + pack(outcome);
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(report, text.data() + done, text.size() - done);
    if (n <= 0) _exit(70);
    done += n;
  }
  std::fflush(nullptr);
  _exit(0);
}

// ---- the parent

std::string named_signal(int signal) { return fmt::format("a crash ({})", strsignal(signal)); }

// The outcome of a child that ended without a result. `said` is the last byte it sent, 0 for none.
Outcome ended_badly(int status, char said) {
  Outcome outcome;
  outcome.state = State::wrong;
  outcome.failure = {"the call itself", "", "a result"};
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  outcome.crashed = signal != 0;
  if (said == kStackOverflow) {
    outcome.failure.got = "a crash (stack overflow)";
    outcome.diagnosis = "a function that calls itself without end, or an array of megabytes as a local variable";
  } else if (signal == SIGABRT) {
    outcome.failure.got = named_signal(signal);
    outcome.diagnosis =
        "abort(), which a failed assert calls, or an exception where none can be caught; the line printed above says "
        "which";
  } else if (signal == SIGFPE) {
    outcome.failure.got = named_signal(signal);
    outcome.diagnosis = "a whole number divided by zero, with / or %";
  } else if (signal == SIGKILL) {
    outcome.failure.got = named_signal(signal);
    outcome.diagnosis = "the system ended it, most likely because memory ran out";
  } else if (signal) {
    outcome.failure.got = named_signal(signal);
    outcome.diagnosis =
        "an index outside its memory, most likely, or a function that ends without a return; the asan preset names the "
        "line";
  } else {
    outcome.failure.got = said == kExit
                              ? "the answer ended the program (exit)"
                              : fmt::format("the answer ended the program, with status {}", WEXITSTATUS(status));
    outcome.diagnosis = kSanitized
                            ? "see the sanitizer's report above, or exit() was called: return a result instead"
                            : "exit() was called: return a result instead, or report an error with fail(\"...\")";
  }
  return outcome;
}

Outcome no_end(const CheckEntry& check, const TimeLimit& limit) {
  Outcome outcome;
  outcome.state = State::wrong;
  outcome.failure = {"the call itself", fmt::format("no end after {:.3g} seconds", limit.seconds()), "a result"};
  outcome.diagnosis = "a loop that never ends, or one that does far too much work";
  if (limit.shortened()) {
    outcome.diagnosis +=
        fmt::format("; the time is short because a check before it did not end: check {} alone", check.id);
  }
  return outcome;
}

// Reads what the child sends until it closes the pipe or its time is over. Unless `told` is true, it prints after a
// second that the check is still running.
void read_report(int from, const CheckEntry& check, double seconds, const Timer& timer, bool told, std::string& text) {
  constexpr double kQuiet = 1;
  const bool silent = told;
  bool ended = false;
  while (!ended) {
    const double now = timer.seconds();
    if (now >= seconds) break;
    if (!told && now >= kQuiet) {
      const std::string line = readable(fmt::format("  still running {} …", check.id));
      fmt::print("{}{}", line, style().live ? "" : "\n");
      std::fflush(stdout);
      told = true;
    }
    const double wait = std::min(seconds, told ? seconds : kQuiet) - now;
    pollfd ready{from, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(1000 * wait) + 1) <= 0) continue;
    char buffer[4096];
    const ssize_t n = ::read(from, buffer, sizeof buffer);
    if (n > 0) text.append(buffer, n);
    ended = n == 0 || (n < 0 && errno != EINTR);
  }
  if (told && !silent && style().live) fmt::print("\r\x1b[K");
}

// Waits for the child until its time is over, then kills it. Returns false if the child was killed.
bool wait_for(pid_t child, double seconds, const Timer& timer, int& status) {
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (timer.seconds() >= seconds) {
      kill(child, SIGKILL);
      while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace

#ifdef __EMSCRIPTEN__
// A browser has no processes. The page ends a worker whose check does not end (tools/web/exercise.js).
constexpr bool kForks = false;
#else
constexpr bool kForks = true;
#endif

std::optional<int> continue_in_child() {
  if (!kForks) return {};
  std::fflush(nullptr);
  const pid_t child = fork();
  pg::check(child >= 0, "no process: {}", std::strerror(errno));
  if (child == 0) return {};
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string ending_of(int status) {
  return WIFSIGNALED(status) ? named_signal(WTERMSIG(status)) : std::string("a call of exit()");
}

TimeLimit::TimeLimit() : TimeLimit(optimized_build() ? 8 : 40) {
  const char* text = std::getenv("POLICYGRAD_CHECK_SECONDS");
  if (!text || !*text) return;
  char* end = nullptr;
  full_ = seconds_ = std::strtod(text, &end);
  pg::check(*end == 0 && seconds_ > 0 && seconds_ <= 3600,
            "POLICYGRAD_CHECK_SECONDS: a number of seconds between 0 and 3600 is expected, got \"{}\"", text);
}

Outcome run_here(const CheckEntry& check, bool learner, bool shows_cases) {
  const Timer timer;
  poison_new_memory(true);
  begin_draws();
  Outcome outcome = grade([&](Grader& grader) { check.run(grader, learner); }, shows_cases);
  poison_new_memory(false);
  outcome.seconds = timer.seconds();
  outcome.drawn = has_drawn();
  return outcome;
}

Outcome run_isolated(const CheckEntry& check, bool learner, TimeLimit& limit, bool shows_cases) {
  if (!kForks) return run_here(check, learner, shows_cases);
  const Timer timer;
  std::fflush(nullptr);
  int ends[2];
  pg::check(pipe(ends) == 0, "check: no pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  pg::check(child >= 0, "check: no process: {}", std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    report = ends[1];
    run_child(check, learner, limit.seconds(), shows_cases);
  }
  ::close(ends[1]);
  std::string text;
  read_report(ends[0], check, limit.seconds(), timer, shows_cases, text);
  ::close(ends[0]);
  int status = 0;
  const bool ended = wait_for(child, limit.seconds(), timer, status);
  std::optional<Outcome> outcome = unpack(text);
  if (!outcome) {
    outcome = ended ? ended_badly(status, text.empty() ? 0 : text[0]) : no_end(check, limit);
    outcome->cases.push_back(outcome->failure);
    if (!ended) limit.used_up();
  }
  outcome->seconds = timer.seconds();
  return *outcome;
}

}  // namespace pg::kit

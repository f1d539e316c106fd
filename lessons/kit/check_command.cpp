#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lessons/kit/commands.h"
#include "lessons/kit/source.h"

namespace pg::kit {
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr unsigned kSecondsPerCheck = 30;

Json to_json(const Case& c) { return {{"input", c.input}, {"got", c.got}, {"want", c.want}}; }
Case case_from(const Json& json) { return {json.at("input"), json.at("got"), json.at("want")}; }

std::string pack(const Outcome& outcome) {
  Json cases = Json::array();
  for (const Case& c : outcome.cases) cases.push_back(to_json(c));
  const Json json{{"state", static_cast<int>(outcome.state)},
                  {"note", outcome.note},
                  {"diagnosis", outcome.diagnosis},
                  {"failure", to_json(outcome.failure)},
                  {"cases", cases}};
  // A learner's memory may hold anything: bytes that are no text must not stop the report.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}
Outcome unpack(const std::string& text) {
  const Json json = Json::parse(text);
  Outcome outcome;
  outcome.state = static_cast<State>(json.at("state").get<int>());
  outcome.note = json.at("note");
  outcome.diagnosis = json.at("diagnosis");
  outcome.failure = case_from(json.at("failure"));
  for (const Json& c : json.at("cases")) outcome.cases.push_back(case_from(c));
  return outcome;
}

Outcome ended_badly(int status) {
  Outcome outcome;
  outcome.state = State::wrong;
  outcome.failure = {"the call itself", "", "a result"};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    outcome.failure.got = fmt::format("no end after {} seconds", kSecondsPerCheck);
    outcome.diagnosis = "a loop that never ends, or one that does far too much work";
  } else if (WIFSIGNALED(status)) {
    outcome.failure.got = fmt::format("a crash ({})", strsignal(WTERMSIG(status)));
    outcome.diagnosis = "an index outside its memory, most likely; the asan preset names the line";
  } else {
    outcome.failure.got = fmt::format("the end of the program, status {}", WEXITSTATUS(status));
    outcome.diagnosis = "an index outside its memory, if a sanitizer's report stands above; or a call of exit()";
  }
  outcome.cases.push_back(outcome.failure);
  return outcome;
}

void print_row(const LessonEntry& lesson, const CheckEntry& check, const Outcome& outcome) {
  const Color color = outcome.state == State::ok      ? Color::green
                      : outcome.state == State::wrong ? Color::red
                                                      : Color::yellow;
  constexpr int kTitle = 30, kIndent = 2 + 7 + kTitle + 2, kDetails = 11;
  fmt::print("  {}{}  ", paint(color, padded(name_of(outcome.state), 7)), padded(check.id + " " + check.title, kTitle));
  if (outcome.state == State::ok) {
    const std::string note = wrapped(outcome.note, kIndent);
    fmt::print("{}", note.empty() ? "\n" : note.substr(kIndent));
  } else if (outcome.state == State::todo) {
    fmt::print("not started\n");
  } else {
    fmt::print("{}\n", paint(Color::bold, "in " + check.piece));
    fmt::print("{}", wrapped(outcome.failure.input, kDetails, "input   "));
    fmt::print("{}", wrapped(outcome.failure.got, kDetails, "got     "));
    fmt::print("{}", wrapped(outcome.failure.want, kDetails, "want    "));
    if (!outcome.diagnosis.empty()) fmt::print("{}", wrapped(outcome.diagnosis, kDetails, "likely  "));
    fmt::print("{}", wrapped(fmt::format("README.md \"{}\"; or: {} hint {}", check.section, lesson.program(), check.id),
                             kDetails, "read    "));
  }
}

}  // namespace

Outcome run_isolated(const CheckEntry& check, bool learner) {
  const auto start = std::chrono::steady_clock::now();
  std::fflush(nullptr);
  int ends[2];
  pg::check(pipe(ends) == 0, "check: no pipe: {}", std::strerror(errno));
  const pid_t child = fork();
  pg::check(child >= 0, "check: no process: {}", std::strerror(errno));
  if (child == 0) {
    ::close(ends[0]);
    alarm(kSecondsPerCheck);
    const std::string text = pack(grade([&](Grader& grader) { check.run(grader, learner); }));
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(ends[1], text.data() + done, text.size() - done);
      if (n <= 0) _exit(70);
      done += n;
    }
    std::fflush(nullptr);
    _exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  ::close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Outcome outcome = WIFEXITED(status) && WEXITSTATUS(status) == 0 ? unpack(text) : ended_badly(status);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

std::vector<const CheckEntry*> select(const LessonEntry& lesson, const std::vector<std::string>& names) {
  std::vector<const CheckEntry*> found;
  for (const CheckEntry& check : lesson.checks) {
    bool wanted = names.empty();
    for (const std::string& name : names)
      wanted |= name == check.id || name == check.piece || check.id.ends_with("." + name);
    if (wanted) found.push_back(&check);
  }
  if (found.empty()) {
    std::string known;
    for (const CheckEntry& check : lesson.checks) known += fmt::format(" {} ({})", check.id, check.piece);
    fail("no check of this lesson is called {}; there are:{}", names.front(), known);
  }
  return found;
}

int check_command(const LessonEntry& lesson, const CheckOptions& options) {
  const auto checks = select(lesson, options.names);
  const std::string hash = hash_of(read_file(repository_root() + "/" + lesson.exercise()));
  fmt::print("{}  grading {} ({})\n", paint(Color::bold, fmt::format("lesson {}  {}", lesson.number, lesson.title)),
             options.reference ? "the reference" : lesson.exercise(), hash.substr(0, 6));
  if (!options.reference) fmt::print("{}", stale_warning(lesson));
  fmt::print("\n");

  int count[3] = {};
  double seconds = 0;
  Json rows = Json::array();
  Progress progress = options.record ? load_progress(progress_path()) : Progress{};
  LessonState& state = progress[lesson.number];
  if (state.hash != hash) state.checks.clear();
  for (const CheckEntry& check : lesson.checks) state.checks.try_emplace(check.id, State::todo);
  const CheckEntry* next = nullptr;
  for (const CheckEntry* check : checks) {
    const Outcome outcome = run_isolated(*check, !options.reference);
    print_row(lesson, *check, outcome);
    ++count[static_cast<int>(outcome.state)];
    seconds += outcome.seconds;
    state.checks[check->id] = outcome.state;
    if (!next && outcome.state != State::ok) next = check;
    rows.push_back({{"id", check->id},
                    {"title", check->title},
                    {"state", name_of(outcome.state)},
                    {"note", outcome.note},
                    {"input", outcome.failure.input},
                    {"got", outcome.failure.got},
                    {"want", outcome.failure.want},
                    {"diagnosis", outcome.diagnosis},
                    {"section", check->section}});
  }
  fmt::print("\n  {} ok, {} wrong, {} to do   {:.1f} s\n", count[0], count[1], count[2], seconds);
  if (next) {
    fmt::print("{}", wrapped(fmt::format("{} {}, in {}: README.md \"{}\"", next->id, next->piece, lesson.exercise(),
                                         next->section),
                             2, "Next: "));
  } else if (!options.reference) {
    fmt::print("{}", wrapped(fmt::format("The engine's own way: {0} solution {1}. The lesson on your code: {0} mine",
                                         lesson.program(), checks.front()->id),
                             2, "All right. "));
  }
  if (options.record) {
    state.hash = hash;
    state.when = now_text();
    save_progress(progress_path(), progress);
  }
  if (options.json) {
    const Json json{{"lesson", lesson.number}, {"title", lesson.title}, {"file", lesson.exercise()}, {"hash", hash},
                    {"checks", rows},          {"ok", count[0]},        {"wrong", count[1]},         {"todo", count[2]},
                    {"seconds", seconds}};
    fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  return count[1] ? 1 : count[2] ? 2 : 0;
}

std::string progress_path() { return repository_root() + "/.progress.json"; }

std::string stale_warning(const LessonEntry& lesson) {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed || program.filename() != "lesson" + std::to_string(lesson.number)) return "";
  const auto built = fs::last_write_time(program, failed);
  const auto edited = fs::last_write_time(repository_root() + "/" + lesson.exercise(), failed);
  if (failed || edited <= built) return "";
  return paint(Color::yellow, fmt::format("  {} was edited after this program was built. First: make lesson{}\n",
                                          lesson.exercise(), lesson.number));
}

}  // namespace pg::kit

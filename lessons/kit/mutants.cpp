// Runs the checks of a lesson on each of its mutants.
#include "lessons/kit/mutants.h"

#include "lessons/kit/isolate.h"
#include "lessons/kit/state.h"
#include "lessons/kit/terminal.h"
#include "tensor/base/table.h"

namespace pg::kit {
namespace {

// "" if the checks report the mutant as its row says: a right answer as ok. Only the checks of the piece that the
// mutant replaces can detect it: every other check grades the reference.
std::string complaint(const LessonEntry& lesson, const MutantRow& row) {
  const auto named = std::find_if(lesson.checks.begin(), lesson.checks.end(),
                                  [&](const CheckEntry& check) { return check.id == row.check; });
  if (named == lesson.checks.end()) return fmt::format("the lesson has no check {}", row.check);
  if (row.says.size() < 5 && !row.right()) return "which words must the diagnosis hold?";
  TimeLimit limit;
  for (const CheckEntry& check : lesson.checks) {
    if (check.piece != named->piece) continue;
    const Outcome outcome = run_isolated(check, true, limit);
    const bool wrong = !row.right() && (check.id == row.check || row.also.find(check.id) != std::string::npos);
    if (outcome.state != (wrong ? State::wrong : State::ok)) {
      return fmt::format("{} is {}, expected {}{}{}", check.id, name_of(outcome.state), wrong ? "WRONG" : "ok",
                         outcome.diagnosis.empty() ? "" : ": ", outcome.diagnosis);
    }
    if (wrong && check.id == row.check && outcome.diagnosis.find(row.says) == std::string::npos) {
      return fmt::format("the diagnosis of {} is \"{}\", expected \"{}\"", check.id, outcome.diagnosis, row.says);
    }
  }
  return "";
}

// Whether this build has what the row needs. Throws Error if the need is unknown.
bool runs_here(const LessonEntry& lesson, const MutantRow& row) {
  struct Need {
    std::string name;
    bool met;
  };
  if (row.needs.empty()) return true;
  const std::vector<Need> needs = {{"speed", optimized_build()},
                                   {"simulator", lesson.checks_accesses && lesson.checks_accesses()}};
  return find_row(needs, "what the mutant needs", row.needs).met;
}

}  // namespace

int run_mutants(const LessonEntry& plain, const MistakenLessons& mutants) {
  use_plain_style();
  if (const std::string why = plain.unavailable ? plain.unavailable() : ""; !why.empty()) {
    fmt::print("{}", wrapped(why));
    return kUnavailable;
  }
  int failed = 0, skipped = 0;
  TimeLimit limit;
  for (const CheckEntry& check : plain.checks) {
    const Outcome outcome = run_isolated(check, true, limit);
    if (outcome.state == State::ok) continue;
    fmt::print("plain answers: {} is {}, expected ok: {}\n", check.id, name_of(outcome.state), outcome.diagnosis);
    ++failed;
  }
  for (const auto& [row, lesson] : mutants) {
    std::string problem;
    try {
      if (!runs_here(lesson, row)) {
        ++skipped;
        continue;
      }
      problem = complaint(lesson, row);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (problem.empty()) continue;
    fmt::print("{}: {}\n", row.name, problem);
    ++failed;
  }
  fmt::print("{} mutants, {} wrongly graded, {} that this build cannot judge\n", mutants.size(), failed, skipped);
  return failed ? 1 : 0;
}

}  // namespace pg::kit

// The command `check`: grades, prints and records.
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "lessons/kit/built.h"
#include "lessons/kit/commands.h"
#include "lessons/kit/isolate.h"
#include "lessons/kit/post.h"
#include "lessons/kit/print.h"
#include "lessons/kit/source.h"
#include "tensor/base/json.h"

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

// The column of ids and titles is as wide as the longest title of the lesson. A longer title gets a separate line.
constexpr int kWidestTitle = 40;

std::string title_of(const CheckEntry& check) { return check.id + " " + check.title; }

int title_width(const LessonEntry& lesson) {
  int width = 0;
  for (const CheckEntry& check : lesson.checks) {
    const int own = text_width(readable(title_of(check)));
    if (own <= kWidestTitle) width = std::max(width, own);
  }
  return width;
}

// `minutes` is the time that the README gives the check, 0 if it gives none; `remark` stands below an ok.
void print_row(const LessonEntry& lesson, const CheckEntry& check, const Outcome& outcome, int minutes,
               const std::string& remark) {
  const Color color = outcome.state == State::ok      ? Color::green
                      : outcome.state == State::wrong ? Color::red
                                                      : Color::yellow;
  constexpr int kDetails = 11;
  const int title = title_width(lesson), indent = 2 + 7 + title + 2;
  const std::string name = padded(title_of(check), title);
  fmt::print("  {}{}{}", paint(color, padded(name_of(outcome.state), 7)), name,
             text_width(name) > title ? fmt::format("\n{:{}}", "", indent) : "  ");
  if (outcome.state == State::ok) {
    const std::string note = wrapped(outcome.note, indent);
    fmt::print("{}", note.empty() ? "\n" : note.substr(indent));
    if (!remark.empty()) fmt::print("{}", wrapped(remark, kDetails, "remark  "));
  } else if (outcome.state == State::todo) {
    fmt::print("not started{}\n", minutes ? fmt::format(", about {} minutes", minutes) : "");
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

// What is said below an ok: that the answer only calls the engine, or that it is much slower than the engine, whose
// time is measured here. "" if neither is so.
std::string remark_on(const CheckEntry& check, const Outcome& outcome, const std::string& exercise, TimeLimit& limit) {
  if (outcome.state != State::ok || exercise.empty()) return "";
  const std::string call = engine_call(exercise, check.piece);
  if (!call.empty()) return "only calls the engine's own " + call + ": nothing of it is yours";
  constexpr double kSlow = 2;
  if (outcome.seconds < kSlow) return "";
  const double engine = run_isolated(check, false, limit).seconds;
  if (outcome.seconds < 4 * engine) return "";
  return fmt::format(
      "slow: this check took {:.1f} s with your answer and {:.1f} s with the engine's. Is something computed again in "
      "each pass of a loop?",
      outcome.seconds, engine);
}

Json row_of(const CheckEntry& check, const Outcome& outcome, const std::string& remark) {
  return {{"id", check.id},
          {"title", check.title},
          {"state", name_of(outcome.state)},
          {"note", outcome.note},
          {"remark", remark},
          {"input", outcome.failure.input},
          {"got", outcome.failure.got},
          {"want", outcome.failure.want},
          {"diagnosis", outcome.diagnosis},
          {"section", check.section}};
}

// The checks as JSON objects, one per line, each as soon as it is graded. The line "checking" before it tells a page
// which check does not end.
int check_events(const std::vector<const CheckEntry*>& checks, const CheckOptions& options) {
  TimeLimit limit;
  int count[3] = {};
  const auto print = [](const Json& event) {
    fmt::print("{}\n", event.dump(-1, Json::Utf8::replace));
    std::fflush(stdout);
  };
  for (const CheckEntry* check : checks) {
    print({{"type", "checking"}, {"id", check->id}});
    const Outcome outcome =
        options.fork ? run_isolated(*check, !options.reference, limit) : run_here(*check, !options.reference);
    Json row = row_of(*check, outcome, "");
    row["type"] = "check";
    row["piece"] = check->piece;
    row["why"] = check->why;
    row["hints"] = Json::array();
    for (const std::string& hint : check->hints) row["hints"].push_back(hint);
    print(row);
    ++count[static_cast<int>(outcome.state)];
  }
  print({{"type", "checked"}, {"ok", count[0]}, {"wrong", count[1]}, {"todo", count[2]}});
  return count[1] ? 1 : count[2] ? 2 : 0;
}

// Where the course has a check that this lesson has not, as a sentence; "" if it has it nowhere.
std::string elsewhere(const LessonEntry& lesson, std::string name) {
  if (name.find('.') == 1) name = "0" + name;  // 3.1 for 03.1
  const auto renamed = lesson.renamed.find(name);
  const std::string id = renamed == lesson.renamed.end() ? name : renamed->second;
  for (const fs::directory_entry& folder : fs::directory_iterator(repository_root() + "/lessons")) {
    const std::string number = lesson_number_of(folder.path().filename().string());
    const fs::path readme = folder.path() / "README.md";
    if (number.empty() || !fs::exists(readme) || !minutes_in(read_file(readme.string())).contains(id)) continue;
    return fmt::format("{} is a check of lesson {}: make lesson{} && ./lesson{} check {}",
                       id == name ? id : fmt::format("{} is called {} now, and", name, id), number, number, number, id);
  }
  return "";
}

}  // namespace

std::vector<const CheckEntry*> select(const LessonEntry& lesson, const std::vector<std::string>& names) {
  const auto is = [](const CheckEntry& check, const std::string& name) {
    const bool short_id = check.id.starts_with('0') && check.id.substr(1) == name;  // 3.1 for 03.1
    return name == check.id || short_id || name == check.piece || check.id.ends_with("." + name);
  };
  const auto& all = lesson.checks;
  for (const std::string& name : names) {
    if (std::any_of(all.begin(), all.end(), [&](const CheckEntry& check) { return is(check, name); })) continue;
    const std::string where = elsewhere(lesson, name);
    check(where.empty(), "{}", where);
    std::string known;
    for (const CheckEntry& check : all) known += fmt::format(" {} ({})", check.id, check.piece);
    fail("no check of this lesson is called {}; there are:{}", name, known);
  }
  std::vector<const CheckEntry*> found;
  for (const CheckEntry& check : all) {
    if (names.empty() || std::any_of(names.begin(), names.end(), [&](const auto& name) { return is(check, name); }))
      found.push_back(&check);
  }
  return found;
}

int check_command(const LessonEntry& lesson, const CheckOptions& options) {
  const auto checks = select(lesson, options.names);
  if (options.events) return check_events(checks, options);
  const std::string hash =
      hash_of(built() ? built()->exercise : read_file(repository_root() + "/" + lesson.exercise()));
  fmt::print("{}  grading {} ({})\n", paint(Color::bold, fmt::format("lesson {}  {}", lesson.number, lesson.title)),
             options.reference ? "the reference" : lesson.exercise(), hash.substr(0, 6));
  fmt::print("\n");
  if (options.challenge > 0) {
    fmt::print("{}\n",
               wrapped(fmt::format("Challenge {}: other random inputs. Nothing is recorded.", options.challenge), 2));
  }
  if (options.first) {
    fmt::print("{}\n", wrapped("What your code prints stands above the case that compares its result.", 2));
  }

  const std::map<std::string, int> minutes = minutes_of(lesson);
  const std::string exercise = options.reference ? "" : read_file(repository_root() + "/" + lesson.exercise());
  int count[3] = {};
  double seconds = 0;
  Json rows = Json::array();
  Progress progress = options.record ? load_progress(progress_path()) : Progress{};
  LessonState& state = progress.lessons[lesson.number];
  if (state.hash != hash) state.checks.clear();
  for (const CheckEntry& check : lesson.checks) state.checks.try_emplace(check.id, State::todo);
  const int64_t now = std::time(nullptr);
  if (state.begun == 0) state.begun = now;
  const CheckEntry* next = nullptr;
  TimeLimit limit;
  for (const CheckEntry* check : checks) {
    if (options.first) print_text(readable(title_of(*check)));
    const Outcome outcome = options.fork ? run_isolated(*check, !options.reference, limit, options.first)
                                         : run_here(*check, !options.reference, options.first);
    std::string remark = remark_on(*check, outcome, exercise, limit);
    if (options.challenge > 0 && outcome.state == State::ok && !outcome.drawn && remark.empty()) {
      remark = "its inputs are fixed: the same as without --challenge";
    }
    const auto time = minutes.find(check->id);
    print_row(lesson, *check, outcome, time == minutes.end() ? 0 : time->second, remark);
    ++count[static_cast<int>(outcome.state)];
    seconds += outcome.seconds;
    state.checks[check->id] = outcome.state;
    note_outcome(state.history[check->id], outcome, now, remark);
    if (!next && outcome.state != State::ok) next = check;
    rows.push_back(row_of(*check, outcome, remark));
    if (options.first && outcome.state == State::wrong) break;
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
    progress.learner = learner_name(progress.learner);
    save_progress(progress_path(), progress);
    if (const char* room = std::getenv("POLICYGRAD_ROOM"); room && *room) {
      fmt::print("{}", wrapped(post_record(room, text_of(progress)), 2, "Room: "));
    }
  }
  if (options.json) {
    const Json json = {
        {"lesson", lesson.number}, {"title", lesson.title}, {"file", lesson.exercise()}, {"hash", hash},
        {"checks", rows},          {"ok", count[0]},        {"wrong", count[1]},         {"todo", count[2]},
        {"seconds", seconds}};
    fmt::print("{}\n", sorted_by_key(json).dump(-1, Json::Utf8::replace));
  }
  return count[1] ? 1 : count[2] ? 2 : 0;
}

std::map<std::string, int> minutes_of(const LessonEntry& lesson) {
  const std::string readme = repository_root() + "/" + lesson.folder + "/README.md";
  return fs::exists(readme) ? minutes_in(read_file(readme)) : std::map<std::string, int>{};
}

std::string progress_path() { return repository_root() + "/.progress.json"; }

}  // namespace pg::kit

// All commands of a lesson's program except check.
#include "lessons/kit/commands.h"

#include <sys/wait.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <limits>
#include <sstream>

#include "lessons/kit/built.h"
#include "lessons/kit/cast.h"
#include "lessons/kit/isolate.h"
#include "lessons/kit/record.h"
#include "lessons/kit/source.h"
#include "tensor/base/atomic_file.h"
#include "tensor/base/clock.h"
#include "tensor/base/json.h"
#include "tools/report/page.h"

namespace pg::kit {
namespace fs = std::filesystem;

namespace {

const CheckEntry& one(const LessonEntry& lesson, const std::string& name) { return *select(lesson, {name}).front(); }

// The first check that is not recorded as ok.
const CheckEntry& current(const LessonEntry& lesson, const LessonState& state) {
  for (const CheckEntry& check : lesson.checks) {
    const auto found = state.checks.find(check.id);
    if (found == state.checks.end() || found->second != State::ok) return check;
  }
  return lesson.checks.front();
}

// The learner's pieces by state. One is WRONG if a check of it is and none is still to do.
std::map<State, std::set<std::string>> graded_pieces(const LessonEntry& lesson) {
  std::map<State, std::set<std::string>> pieces;
  TimeLimit limit;
  for (const CheckEntry& check : lesson.checks) pieces[run_isolated(check, true, limit).state].insert(check.piece);
  for (const std::string& piece : pieces[State::todo]) pieces[State::wrong].erase(piece);
  for (const State other : {State::todo, State::wrong}) {
    for (const std::string& piece : pieces[other]) pieces[State::ok].erase(piece);
  }
  return pieces;
}

void print_event(const std::string& item) {
  fmt::print("{}\n", item);
  std::fflush(stdout);
}
std::unique_ptr<DemoRecord> new_record(const DemoOptions& options) {
  return std::make_unique<DemoRecord>(options.events ? print_event : DemoRecord::Sink());
}

// Runs the demonstration on the pieces `mine`. If it throws, the piece that threw, or otherwise the one called last,
// moves from `mine` to `threw`, and the demonstration starts again with the engine's version of it.
Demo run_demo(const LessonEntry& lesson, const DemoOptions& options, std::set<std::string>& mine,
              std::set<std::string>& threw, std::unique_ptr<DemoRecord>& record, Cast* cast) {
  for (;;) {
    if (record) record = new_record(options);
    Pace pace = options.pace;
    pace.quiet = options.events;
    pace.cast = cast;
    const Settings settings(lesson.settings, options.set);
    Demo demo(options.full, record.get(), pace, {.known = read_bands(band_file(lesson))}, settings);
    begin_pieces();
    try {
      if (!settings.changes().empty()) {
        demo.say("Changed: {}. The texts tell what the defaults, in brackets, do, and the bands are theirs.",
                 settings.changes());
      }
      lesson.demo(demo, mine);
      return demo;
    } catch (...) {
      const LastPiece last = last_piece();
      if (!mine.contains(last.name)) throw;
      demo.show_all();
      demo.gap();
      const std::string what = describe_exception();
      demo.say("{}",
               paint(Color::red, last.threw ? fmt::format("Your {} threw {}.", last.name, what)
                                            : fmt::format("The demonstration stopped with {}. Your {} was called last, "
                                                          "so its result is the likely cause.",
                                                          what, last.name)));
      demo.say("It starts again with the engine's {}.", last.name);
      mine.erase(last.name);
      threw.insert(last.name);
    }
  }
}

bool confirmed(const std::string& question) {
  fmt::print("{} [y/N] ", question);
  std::fflush(stdout);
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

// The demonstration as one HTML file.
void write_report(const std::string& path, bool slides, const std::string& title, const std::set<std::string>& mine,
                  const std::set<std::string>& threw, double seconds, const DemoRecord& record) {
  Json data = {{"kind", "lesson"}, {"made", now_text()}, {"seconds", seconds}, {"optimized", optimized_build()},
               {"mine", mine},     {"threw", threw},     {"slides", slides}};
  data["items"] = Json::parse(record.items());
  write_file_atomically(path, report_page(title, sorted_by_key(std::move(data)).dump(-1, Json::Utf8::replace)));
}

// Runs the demonstration and prints its result. Returns the exit status.
int demonstrate(const LessonEntry& lesson, const DemoOptions& options, std::set<std::string> mine,
                std::set<std::string> threw) {
  const Timer timer;
  std::unique_ptr<DemoRecord> record;
  if (!options.report.empty() || !options.slides.empty() || options.events) record = new_record(options);
  Cast cast;
  if (!options.cast.empty()) set_style({.color = true, .unicode = true, .live = false, .width = 80});
  const Demo demo = run_demo(lesson, options, mine, threw, record, options.cast.empty() ? nullptr : &cast);
  pg::check(options.pace.part <= demo.headings(), "--part {}: the demonstration has {} headings", options.pace.part,
            demo.headings());
  const double seconds = timer.seconds() - demo.waited_seconds();

  bool pass = threw.empty();
  Json claims = Json::array();
  for (const Claim& claim : demo.claims()) {
    pass &= claim.holds();
    claims.push_back({{"name", claim.name},
                      {"value", claim.value},
                      {"unit", claim.unit},
                      {"bound", claim.bound.text()},
                      {"judged", claim.judged},
                      {"pass", claim.holds()}});
  }
  if (options.events) print_event(Json({{"type", "end"}, {"seconds", seconds}, {"pass", pass}}).dump());
  std::string shares;
  Json curves = Json::array();
  for (const OnBand& curve : demo.on_bands()) {
    curves.push_back({{"name", curve.name}, {"inside", curve.share}});
    shares += fmt::format("{}{} {:.0f} %", shares.empty() ? "" : ", ", curve.name, 100 * curve.share);
  }
  if (!mine.empty() && !shares.empty() && !options.events) {
    fmt::print("\n{}", wrapped("Of your curves, so much is inside the engine's bands of ten seeds: " + shares + "."));
  }
  if (!options.events) {
    fmt::print("\n{}",
               wrapped(fmt::format(
                   "{:.1f} s. Now read {}/README.md and fill in {} beside it, then: make lesson{} && {} check.{}",
                   seconds, lesson.folder, lesson.exercise_file, lesson.number, lesson.program(),
                   lesson.settings.empty() ? "" : " Other numbers: " + lesson.program() + " settings")));
  }
  const std::string title = fmt::format("lesson {}  {}", lesson.number, lesson.title);
  for (const std::string& file : {options.report, options.slides}) {
    if (file.empty()) continue;
    write_report(file, file == options.slides, title, mine, threw, seconds, *record);
    if (!options.events) fmt::print("{}\n", file);
  }
  if (!options.cast.empty()) {
    constexpr double kMostSeconds = 600;
    write_file_atomically(options.cast, cast.file(title, kMostSeconds));
    if (!options.events) fmt::print("{}\n", options.cast);
  }
  if (options.json) {
    const Json json = {
        {"lesson", lesson.number}, {"title", lesson.title}, {"full", options.full}, {"mine", mine}, {"threw", threw},
        {"seconds", seconds},      {"claims", claims},      {"curves", curves},     {"pass", pass}};
    fmt::print("{}\n", sorted_by_key(json).dump());
  }
  return pass ? 0 : 1;
}

struct Ending {
  ~Ending() { demonstration_ended(); }  // also when an exception is propagating to main, but not after exit()
};

}  // namespace

std::string band_file(const LessonEntry& lesson) { return repository_root() + "/" + lesson.folder + "/band.csv"; }

bool is_handout(const LessonEntry& lesson) {
  return fs::exists(repository_root() + "/" + lesson.folder + "/exercise.stub");
}

std::string find_answer(const LessonEntry& lesson, const CheckEntry& check) {
  const std::string text = read_file(repository_root() + "/" + lesson.folder + "/answers.h");
  for (const CheckEntry& other : lesson.checks) {
    if (other.piece != check.piece) continue;
    if (const std::string found = marked_functions(text, other.id); !found.empty()) return found;
  }
  return "";
}

int demo_command(const LessonEntry& lesson, const DemoOptions& options) {
  std::set<std::string> mine, wrong;
  if (!options.events) {
    fmt::print("{}\n", paint(Color::bold, fmt::format("lesson {}  {}", lesson.number, lesson.title)));
  }
  if (options.mine) {
    auto pieces = graded_pieces(lesson);
    mine = pieces[State::ok];
    if (options.wrong) wrong = pieces[State::wrong];
    mine.insert(wrong.begin(), wrong.end());
  }
  if (options.mine && !options.events) {
    std::string yours, wrongs, engines;
    std::set<std::string> listed;
    for (const CheckEntry& check : lesson.checks) {
      if (!listed.insert(check.piece).second) continue;
      std::string& list = wrong.contains(check.piece) ? wrongs : mine.contains(check.piece) ? yours : engines;
      list += (list.empty() ? "" : ", ") + check.piece;
    }
    const std::string of_wrong = wrongs.empty() ? "nothing" : wrongs + ": what you see may come from these";
    fmt::print("{}{}{}", wrapped(yours.empty() ? "nothing yet" : yours, 2, "yours            "),
               options.wrong ? wrapped(of_wrong, 2, "yours, WRONG     ") : "",
               wrapped(engines.empty() ? "nothing" : engines, 2, "the reference's  "));
  }
  std::set<std::string> threw;
  while (!mine.empty()) {
    begin_pieces();
    const std::optional<int> status = continue_in_child();
    if (!status) {
      const Ending ending;
      return demonstrate(lesson, options, mine, threw);
    }
    const LastPiece last = last_piece();
    if (last.ended && WIFEXITED(*status)) return WEXITSTATUS(*status);
    pg::check(mine.contains(last.name), "the demonstration ended with {}", ending_of(*status));
    fmt::print("\n{}{}",
               wrapped(paint(Color::red, fmt::format("The demonstration ended with {}. Your {} was called "
                                                     "last, so it is the likely cause.",
                                                     ending_of(*status), last.name)),
                       2),
               wrapped(fmt::format("It starts again with the engine's {}.", last.name), 2));
    mine.erase(last.name);
    threw.insert(last.name);
  }
  return demonstrate(lesson, options, mine, threw);
}

int hint_command(const LessonEntry& lesson, const std::string& name, int level) {
  Progress progress = load_progress(progress_path());
  LessonState& state = progress.lessons[lesson.number];
  const CheckEntry& check = name.empty() ? current(lesson, state) : one(lesson, name);
  if (state.begun == 0) state.begun = std::time(nullptr);
  int& shown = state.hints[check.id];
  if (level == 0) level = std::min(shown + 1, 3);
  shown = level;
  constexpr const char* kKinds[] = {"a question", "the formula", "the steps in words"};
  fmt::print("{}  hint {} of 3: {}\n\n{}", paint(Color::bold, check.id + " " + check.title), level, kKinds[level - 1],
             wrapped(check.hints[level - 1], 2));
  if (level < 3) {
    fmt::print("\n  More: {} hint {}\n", lesson.program(), check.id);
  } else if (!is_handout(lesson)) {
    fmt::print("\n  That was the last hint. An answer: {} solution {}\n", lesson.program(), check.id);
  }
  save_progress(progress_path(), progress);
  return 0;
}

int explain_command(const LessonEntry& lesson, const std::string& name) {
  const CheckEntry& check = one(lesson, name);
  const Outcome outcome = run_isolated(check, true);
  fmt::print("{}  {} in {}\n\n{}\n", paint(Color::bold, check.id + " " + check.title), check.piece, lesson.exercise(),
             wrapped(check.why, 2));
  if (outcome.state == State::todo) {
    fmt::print("{}\n", wrapped(fmt::format("Yours is not started: see {}/README.md \"{}\". What the reference does:",
                                           lesson.folder, check.section),
                               2));
  }
  const Outcome shown = outcome.state == State::todo ? run_isolated(check, false) : outcome;
  const std::string yours = outcome.state == State::todo ? "reference  " : "yours      ";
  for (const Case& c : shown.cases) {
    fmt::print("{}{}{}", wrapped(c.input, 2, "input      "), wrapped(c.want, 2, "expected   "),
               wrapped(c.got, 2, yours));
    if (!c.row.empty()) {
      fmt::print("{}{}{}", wrapped(c.row, 2, "where      "), wrapped(c.want_row, 2, "expected   "),
                 wrapped(c.got_row, 2, yours));
    }
    fmt::print("\n");
  }
  fmt::print("  {}{}\n", name_of(outcome.state), outcome.diagnosis.empty() ? "" : ", likely: " + outcome.diagnosis);
  return 0;
}

int solution_command(const LessonEntry& lesson, const std::string& name) {
  if (is_handout(lesson)) {
    fmt::print("{}", wrapped(fmt::format("This is a handout, which has no solutions: {} hint {} helps, and so does "
                                         "whoever teaches the course.",
                                         lesson.program(), one(lesson, name).id)));
    return 0;
  }
  Progress progress = load_progress(progress_path());
  LessonState& state = progress.lessons[lesson.number];
  const CheckEntry& check = one(lesson, name);
  const auto ok = [&] {
    return !edited_since_build(lesson.exercise()) && run_isolated(check, true).state == State::ok;
  };
  if (!state.solution_asked.contains(check.id) && !ok()) {
    if (!confirmed(
            fmt::format("{} is not ok yet, and finding it yourself is the fun. Show it all the same?", check.id))) {
      fmt::print("\nGood. A smaller step: {} hint {}\n", lesson.program(), check.id);
      return 0;
    }
    state.solution_asked.insert(check.id);
    save_progress(progress_path(), progress);
  }
  const std::string answer = find_answer(lesson, check);
  pg::check(!answer.empty(), "solution: {}/answers.h has no answer to {}; please report it", lesson.folder, check.id);
  const Range range = find_function(read_file(repository_root() + "/" + check.solution.file), check.solution.signature);
  pg::check(range.first > 0, "solution: {} no longer holds \"{}\"; please report it", check.solution.file,
            check.solution.signature);
  fmt::print("{}\n\n{}\n", paint(Color::bold, "As you could write it:"), answer);
  fmt::print("{}\n{}\n\n{}\n", paint(Color::bold, "The engine's own:"),
             fmt::format("{}:{}-{}", check.solution.file, range.first, range.last), range.text);
  return 0;
}

int reset_command(const LessonEntry& lesson) {
  Progress progress = load_progress(progress_path());
  const std::string exercise = repository_root() + "/" + lesson.exercise();
  std::string when = now_text();
  for (char& c : when) c = c == ' ' || c == ':' ? '-' : c;
  std::string backup = fmt::format("{}.bak-{}", exercise, when);
  for (int i = 2; fs::exists(backup); ++i) backup = fmt::format("{}.bak-{}-{}", exercise, when, i);
  const bool kept = fs::exists(exercise);
  if (kept) fs::copy_file(exercise, backup);
  pg::check(succeeds(repository_root(), {"sh", "scripts/make_exercise.sh", lesson.folder}),
            "reset: scripts/make_exercise.sh failed; your file is kept in {}", backup);
  if (const auto state = progress.lessons.find(lesson.number); state != progress.lessons.end()) {
    for (auto& [id, check] : state->second.checks) check = State::todo;
    state->second.hash = hash_of(read_file(exercise));
    save_progress(progress_path(), progress);
  }
  const std::string where = kept ? "; yours is kept in " + fs::path(backup).filename().string() : "";
  fmt::print("{} is as new{}\n", lesson.exercise(), where);
  return 0;
}

std::string progress_line(const LessonEntry& lesson, const LessonState& state,
                          const std::map<std::string, int>& minutes, bool edited) {
  int count[3] = {}, left = 0;
  std::string bar;
  for (const CheckEntry& check : lesson.checks) {
    const auto found = state.checks.find(check.id);
    const State now = found == state.checks.end() ? State::todo : found->second;
    ++count[static_cast<int>(now)];
    bar += style().unicode ? (now == State::ok      ? "█"
                              : now == State::wrong ? "×"
                                                    : "░")
                           : (now == State::ok      ? "#"
                              : now == State::wrong ? "x"
                                                    : ".");
    if (now != State::ok && minutes.contains(check.id)) left += minutes.at(check.id);
  }
  constexpr int kTitle = 28, kBar = 8;  // the longest of the course
  std::string line = padded(fmt::format("{:>3} {}", lesson.number, lesson.title), 4 + kTitle) + "  " +
                     paint(Color::green, bar) + std::string(std::max(0, kBar - text_width(bar)), ' ') + "  ";
  if (state.checks.empty()) return line + fmt::format("not started, {} min: {}", left, lesson.program());
  line += fmt::format("{} of {} ok", count[0], lesson.checks.size());
  if (count[1] > 0) line += fmt::format(", {} WRONG", count[1]);
  if (left > 0) line += fmt::format(", {} min", left);
  return line + (edited ? ", edited" : "");
}

int progress_command(const LessonEntry& lesson) {
  const LessonState state = load_progress(progress_path()).lessons[lesson.number];
  const bool edited =
      !state.checks.empty() && hash_of(read_file(repository_root() + "/" + lesson.exercise())) != state.hash;
  fmt::print("{}\n", progress_line(lesson, state, minutes_of(lesson), edited));
  return 0;
}

int band_command(const LessonEntry& lesson) {
  Bands bands;
  for (uint64_t seed = 1; seed <= kBandSeeds; ++seed) {
    fmt::print("seed {} of {}\n", seed, kBandSeeds);
    std::fflush(stdout);
    constexpr Pace nothing_shown{.part = std::numeric_limits<int>::max()};
    Demo demo(false, nullptr, nothing_shown, {.widened = &bands, .seed = seed}, Settings(lesson.settings));
    lesson.demo(demo, {});
  }
  if (!bands.empty()) write_bands(band_file(lesson), bands);
  fmt::print("{}\n", bands.empty() ? "no curve of this lesson depends on a seed" : lesson.folder + "/band.csv");
  return 0;
}

}  // namespace pg::kit

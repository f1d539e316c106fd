// The command line of a lesson.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "lessons/kit/built.h"
#include "lessons/kit/commands.h"
#include "tensor/kernels.h"

namespace pg::kit {
namespace {

constexpr int kRefused = 3, kUsageError = 64;

}  // namespace

int run_lesson(const LessonEntry& lesson, int argc, char** argv, const MistakenLessons& mistaken) {
  CLI::App app{fmt::format("Lesson {}: {}. Without a command: the demonstration.", lesson.number, lesson.title)};
  app.name(lesson.program());
  app.fallthrough();
  app.require_subcommand(0, 1);
  DemoOptions demo;
  CheckOptions check;
  HuntOptions hunt;
  bool json = false, plain = false, rebuilt = false;
  std::string name, device = "cpu";
  int level = 0;
  app.add_flag("--full", demo.full, "The long demonstration (at most two minutes)");
  app.add_flag("--step", demo.pace.step, "Wait for Enter before each claim, plot and table");
  app.add_option("--part", demo.pace.part, "Show the demonstration from its heading N on")->check(CLI::Range(1, 99));
  app.add_option("--set", demo.set, "The demonstration with other settings: name=value; ./lessonN settings lists them");
  app.add_flag("--events", demo.events,
               "The demonstration, or the checks, as JSON objects, one per line, as each is there");
  app.add_flag("--json", json, "Numbers as one JSON object on the last line");
  app.add_flag("--plain", plain, "No colour, ASCII only");
  const std::string report = fmt::format("lesson{}_report.html", lesson.number);
  app.add_flag("--report{" + report + "}", demo.report,
               "The demonstration as one HTML file too, " + report + "; --report=FILE: another one");
  const std::string slides = fmt::format("lesson{}_slides.html", lesson.number);
  app.add_flag("--slides{" + slides + "}", demo.slides,
               "The demonstration as slides, " + slides + "; --slides=FILE: another file");
  const std::string cast = fmt::format("lesson{}.cast", lesson.number);
  app.add_flag("--cast{" + cast + "}", demo.cast,
               "The demonstration as a recording for asciinema, " + cast + "; --cast=FILE: another file");
  app.add_option("--device", device, "plain: compute by the loops of tensor/plain, slowly; default cpu")
      ->check(CLI::IsMember({"cpu", "plain"}));
  app.add_flag("--rebuilt", rebuilt)->group("");  // for rebuild_if_edited

  CLI::App* check_app =
      app.add_subcommand("check", "Grade your file, rebuilt if edited (exit 0 ok, 1 WRONG, 2 TODO, 3 not built)");
  check_app->add_option("name", check.names, "Checks, e.g. 02.1; default all");
  check_app->add_flag("--reference", check.reference, "Grade the reference instead");
  check_app->add_flag("--first", check.first, "Print each case below what your code prints; stop at the first WRONG");
  check_app->add_option("--challenge", check.challenge, "The same checks with other random inputs; records nothing")
      ->check(CLI::Range(1, 1000000));
  check_app->add_flag("!--no-fork", check.fork, "Check in this process, for gdb: no limits, and a crash ends it");
  CLI::App* mine_app = app.add_subcommand("mine", "The demonstration on your finished parts");
  mine_app->add_flag("--wrong", demo.wrong, "With your WRONG parts too, to see what a mistake does");
  CLI::App* hint_app = app.add_subcommand("hint", "A hint; again for the next one");
  hint_app->add_option("name", name, "Check; default the first that is not ok");
  hint_app->add_option("level", level, "1, 2 or 3")->check(CLI::Range(1, 3));
  CLI::App* explain_app = app.add_subcommand("explain", "Why a check exists, and the numbers it used");
  explain_app->add_option("name", name, "Check")->required();
  CLI::App* solution_app = app.add_subcommand("solution", "A readable answer, then the engine's own function");
  solution_app->add_option("name", name, "Check")->required();
  CLI::App* reset_app = app.add_subcommand("reset", "Keep your file aside and start again");
  CLI::App* progress_app = app.add_subcommand("progress", "One line: how far you are");
  CLI::App* quiz_app = app.add_subcommand("quiz", "Three questions; --json prints them with their answers");
  CLI::App* hunt_app = app.add_subcommand("hunt", "A training with a mistake in it: which one is it?");
  hunt_app->add_option("--seed", hunt.seed, "The number of the question; default the next one")
      ->check(CLI::Range(1, 1000000));
  hunt_app->add_option("--answer", hunt.answer, "The answer, a to e, in place of the prompt")
      ->check(CLI::IsMember({"a", "b", "c", "d", "e"}));
  hunt_app->add_flag("--list", hunt.list, "How many mistakes there are, and your score");
  hunt_app->add_flag("--record", hunt.record, "For authors: write hunt.csv, the pictures of the mistakes");
  hunt_app->add_option("--verify", hunt.verify, "For authors: check hunt.csv, and train N of its mistakes again")
      ->check(CLI::Range(1, 1000));
  CLI::App* settings_app = app.add_subcommand("settings", "What --set can change in the demonstration");
  CLI::App* band_app = app.add_subcommand("band", "For authors: write band.csv, the bands of ten seeds");
  CLI::App* lint_app = app.add_subcommand("lint", "For authors: is the lesson complete?");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  if (plain) use_plain_style();
  use_plain_kernels(device == "plain");
  demo.json = check.json = hunt.json = json;
  check.events = demo.events;
  try {
    refuse_elsewhere();
    pg::check(demo.set.empty() || app.get_subcommands().empty() || *mine_app,
              "--set changes the demonstration: expected it without a command, or with mine");
    const bool runs =
        !(*hint_app || *solution_app || *reset_app || *progress_app || *quiz_app || *lint_app || *settings_app);
    if (const std::string why = runs && lesson.unavailable ? lesson.unavailable() : ""; !why.empty()) {
      fmt::print("{}", wrapped(why));
      return kUnavailable;
    }
    if ((*check_app && !check.reference) || *mine_app || *explain_app) {
      rebuild_if_edited(lesson.exercise(), argv, rebuilt, demo.events);
    }
    if (*check_app) {
      check.record = !check.reference && check.challenge == 0 && built();
      set_challenge(check.challenge);
      return check_command(lesson, check);
    }
    if (*hint_app) {
      // "hint 2" means level 2 of the current check.
      if (level == 0 && name.size() == 1 && name[0] >= '1' && name[0] <= '3') {
        level = name[0] - '0';
        name.clear();
      }
      return hint_command(lesson, name, level);
    }
    if (*explain_app) return explain_command(lesson, name);
    if (*solution_app) return solution_command(lesson, name);
    if (*reset_app) return reset_command(lesson);
    if (*progress_app) return progress_command(lesson);
    if (*quiz_app) return quiz_command(lesson, json);
    if (*hunt_app) return hunt_command(lesson, mistaken, hunt, argv);
    if (*settings_app) {
      fmt::print("{}", settings_text(lesson.settings, json));
      return 0;
    }
    if (*band_app) return band_command(lesson);
    if (*lint_app) return lint_command(lesson);
    demo.mine = static_cast<bool>(*mine_app);
    return demo_command(lesson, demo);
  } catch (const Refused& refused) {
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", refused.what());
    return kRefused;
  } catch (const std::exception& error) {  // Error, or a file system error
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", error.what());
    return kUsageError;
  }
}

}  // namespace pg::kit

#pragma once
// A lesson consists of pieces that the learner writes, checks that grade them, and a demonstration that runs on any mix
// of the learner's pieces and the engine's. lessons/kit/README.md shows how to write one.
//
// Impl is the lesson's own struct of function pointers, one per piece. A check gets an Impl in which one piece is the
// learner's and the others are the reference, so an unfinished piece never affects the check of another.
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lessons/kit/challenge.h"
#include "lessons/kit/contract.h"
#include "lessons/kit/demo.h"
#include "lessons/kit/grader.h"
#include "lessons/kit/guard.h"
#include "lessons/kit/mutants.h"
#include "lessons/kit/print.h"
#include "lessons/kit/saboteur.h"
#include "lessons/kit/todo.h"

namespace pg::kit {

// The engine's implementation: a file (path from the repository's root) and text in the function's first line.
struct Source {
  std::string file, signature;
};

// One or several members of Impl that are replaced together.
template <class Impl>
struct Piece {
  std::string name;
  // Takes the learner's members; contract_breach() tells what all checks compare (contract.h).
  std::function<void(Impl& into, const Impl& learner, const Impl& reference)> take;
  std::function<void(Impl& into, const Impl& learner)> watch;  // last_piece() records the calls
  std::vector<Saboteur<Impl>> saboteurs;
};
template <auto First, auto... Rest>
auto piece(const std::string& name) {
  const auto build = []<class Impl, class F>(F Impl::*, const std::string& of) {
    const auto watch_one = []<auto Member>(const std::string& its, Impl& into, const Impl& from) {
      Guard<Member>::piece = its;
      Guard<Member>::learner = from.*Member;
      into.*Member = Guard<Member>::call;
    };
    const auto take_one = []<auto Member>(Impl & into, const Impl& learner, const Impl& reference) {
      Contract<Member>::learner = learner.*Member;
      Contract<Member>::reference = reference.*Member;
      into.*Member = Contract<Member>::call;
    };
    std::vector<Saboteur<Impl>> saboteurs;
    Sabotage<First>::append(saboteurs, "");
    int number = 1;
    (Sabotage<Rest>::append(saboteurs, fmt::format(" of function {}", ++number)), ...);
    return Piece<Impl>{of,
                       [take_one](Impl& into, const Impl& learner, const Impl& reference) {
                         take_one.template operator()<First>(into, learner, reference);
                         (take_one.template operator()<Rest>(into, learner, reference), ...);
                       },
                       [of, watch_one](Impl& into, const Impl& from) {
                         watch_one.template operator()<First>(of, into, from);
                         (watch_one.template operator()<Rest>(of, into, from), ...);
                       },
                       saboteurs};
  };
  return build(First, name);
}

// Saboteurs of the check's piece that give right answers, and why.
struct Harmless {
  std::vector<std::string> saboteurs;
  std::string why;
  Harmless(const char* saboteur, std::string reason) : saboteurs{saboteur}, why(std::move(reason)) {}
  Harmless(std::vector<std::string> names, std::string reason) : saboteurs(std::move(names)), why(std::move(reason)) {}
};

// The type of the functions that grade: kit::Grades<Impl> check_softmax, check_adamw; declares two.
template <class Impl>
using Grades = void(Grader&, const Impl&);

template <class Impl>
struct Check {
  std::string id;     // "01.2"
  std::string title;  // "broadcast shape"
  Piece<Impl> piece;
  std::string section;               // the heading in the lesson's README
  std::string why;                   // why this check exists, for `explain`
  std::array<std::string, 3> hints;  // a question; the formula with shapes; the loop in words
  Source solution;
  std::function<Grades<Impl>> run;
  std::vector<Harmless> harmless{};
};

template <class Impl>
struct Lesson {
  std::string number;  // "1", "7b"
  std::string folder;  // "lessons/01_tensors"
  std::string title;
  Impl reference, learner{};  // an Impl whose members begin as the learner's need not be named
  std::vector<Check<Impl>> checks;
  std::function<void(Demo&, const Impl&)> demo;
  std::string exercise = "exercise.cpp";          // in the folder
  std::function<std::string()> unavailable = {};  // the reason why this machine cannot run the lesson, "" if it can
  // Whether this build checks what kernels access in memory. A lesson without kernels leaves it empty.
  std::function<bool()> checks_accesses = {};
  // The part of the demonstration whose training ./lessonN hunt shows; empty: all of it.
  std::function<void(Demo&, const Impl&)> hunt = {};
  std::vector<Setting> settings = {};  // what a reader may change in the demonstration
  // Checks that were once this lesson's and have another id now.
  std::map<std::string, std::string> renamed = {};
};

// The exit status on a machine that cannot run the lesson. CTest counts such a test as skipped.
inline constexpr int kUnavailable = 77;

// Check and Lesson without the type Impl, for the commands.
struct CheckEntry {
  std::string id, title, piece, section, why;
  std::array<std::string, 3> hints;
  Source solution;
  std::function<void(Grader&, bool learner)> run;
  std::vector<Harmless> harmless{};
};
struct LessonEntry {
  std::string number, folder, title, exercise_file;
  std::vector<CheckEntry> checks;
  std::function<void(Demo&, const std::set<std::string>& learner_pieces)> demo;
  std::function<std::string()> unavailable;
  std::function<bool()> checks_accesses = {};
  std::function<void(Demo&)> train = {};  // what `hunt` shows, on all of the learner's pieces
  std::vector<Setting> settings = {};
  std::map<std::string, std::string> renamed = {};

  std::string program() const { return "./lesson" + number; }
  std::string exercise() const { return folder + "/" + exercise_file; }
};

// A lesson with a mistake of lessonN_mutants in it, for each one.
using MistakenLessons = std::vector<std::pair<MutantRow, LessonEntry>>;

// The whole command line of ./lessonN. Returns the exit status. `mistaken` is for `hunt`, and empty in the lesson's own
// program.
int run_lesson(const LessonEntry& lesson, int argc, char** argv, const MistakenLessons& mistaken = {});
// Returns 0 if the checks are ok on the plain answers and report each mutant as its row says, otherwise 1; kUnavailable
// if this machine cannot run the lesson.
int run_mutants(const LessonEntry& plain, const MistakenLessons& mutants);

// Prints the mistakes as a page (Markdown): what the check that finds each says, with its numbers, and what a training
// shows, where hunt.csv has it. Returns 0.
int print_mistakes(const LessonEntry& lesson, const MistakenLessons& mistaken);

struct SaboteurRow {
  std::string piece, name;
};
// Prints a table. Returns 0 if for each saboteur a check of its piece is WRONG, or none is and one of them names it as
// harmless, otherwise 1; kUnavailable if this machine cannot run the lesson.
int run_saboteurs(const std::vector<std::pair<SaboteurRow, LessonEntry>>& saboteurs, const LessonEntry& plain);

// `lesson` must outlive the result.
template <class Impl>
LessonEntry entry_of(const Lesson<Impl>& lesson, const Impl& learner) {
  LessonEntry entry{lesson.number,      lesson.folder,         lesson.title, lesson.exercise, {}, {},
                    lesson.unavailable, lesson.checks_accesses};
  for (const Check<Impl>& check : lesson.checks) {
    entry.checks.push_back({check.id, check.title, check.piece.name, check.section, check.why, check.hints,
                            check.solution,
                            [&lesson, &check, from = learner](Grader& grader, bool learners) {
                              Impl impl = lesson.reference;
                              begin_contract();
                              if (learners) check.piece.take(impl, from, lesson.reference);
                              check.run(grader, impl);
                              if (const auto breach = contract_breach()) {
                                grader.expect(false, breach->input, breach->got, breach->want, breach->diagnosis);
                              }
                            },
                            check.harmless});
  }
  entry.demo = [&lesson, from = learner](Demo& demo, const std::set<std::string>& learner_pieces) {
    Impl impl = lesson.reference;
    for (const Check<Impl>& check : lesson.checks) {
      if (learner_pieces.contains(check.piece.name)) check.piece.watch(impl, from);
    }
    lesson.demo(demo, impl);
  };
  entry.settings = lesson.settings;
  entry.renamed = lesson.renamed;
  entry.train = [&lesson, from = learner](Demo& demo) { (lesson.hunt ? lesson.hunt : lesson.demo)(demo, from); };
  return entry;
}

template <class Impl>
int run_saboteurs(const Lesson<Impl>& lesson) {
  std::vector<std::pair<SaboteurRow, LessonEntry>> saboteurs;
  std::set<std::string> pieces;
  for (const Check<Impl>& check : lesson.checks) {
    if (!pieces.insert(check.piece.name).second) continue;
    for (const Saboteur<Impl>& saboteur : check.piece.saboteurs) {
      Impl wrong = lesson.reference;
      saboteur.apply(wrong, lesson.reference);
      saboteurs.emplace_back(SaboteurRow{check.piece.name, saboteur.name}, entry_of(lesson, wrong));
    }
  }
  return run_saboteurs(saboteurs, entry_of(lesson, lesson.reference));
}

template <class Impl>
int run_lesson(const Lesson<Impl>& lesson, int argc, char** argv) {
  const LessonEntry entry = entry_of(lesson, lesson.learner);
  if (Mutants<Impl>::all().empty()) return run_lesson(entry, argc, argv);
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "saboteurs") return run_saboteurs(lesson);
  if (command == "--challenge" && argc > 2) set_challenge(std::stoull(argv[2]));
  const bool hunts = std::find(argv + 1, argv + argc, std::string("hunt")) != argv + argc;
  MistakenLessons mutants;
  for (const Mutant<Impl>& mutant : Mutants<Impl>::all()) {
    Impl wrong = hunts ? lesson.reference : lesson.learner;
    mutant.apply(wrong);
    mutants.emplace_back(mutant.row(), entry_of(lesson, wrong));
  }
  if (command == "page") return print_mistakes(entry, mutants);
  return hunts ? run_lesson(entry_of(lesson, lesson.reference), argc, argv, mutants) : run_mutants(entry, mutants);
}

}  // namespace pg::kit

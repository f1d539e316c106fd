#pragma once
// A lesson consists of pieces that the learner writes, checks that grade them, and a demonstration that runs on any mix
// of the learner's pieces and the engine's. lessons/kit/README.md shows how to write one.
//
// Impl is the lesson's own struct of function pointers, one per piece. A check gets an Impl in which one piece is the
// learner's and the others are the reference, so an unfinished piece never affects the check of another.
#include <array>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lessons/kit/demo.h"
#include "lessons/kit/grader.h"
#include "lessons/kit/guard.h"
#include "lessons/kit/mutants.h"
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
  std::function<void(Impl& into, const Impl& from)> take;
  std::function<void(Impl& into, const Impl& from)> watch;  // like take, and last_piece() records the calls
};
template <auto First, auto... Rest>
auto piece(const std::string& name) {
  const auto build = []<class Impl, class F>(F Impl::*, const std::string& of) {
    const auto watch_one = []<auto Member>(const std::string& its, Impl& into, const Impl& from) {
      Guard<Member>::piece = its;
      Guard<Member>::learner = from.*Member;
      into.*Member = Guard<Member>::call;
    };
    return Piece<Impl>{of,
                       [](Impl& into, const Impl& from) {
                         into.*First = from.*First;
                         ((into.*Rest = from.*Rest), ...);
                       },
                       [of, watch_one](Impl& into, const Impl& from) {
                         watch_one.template operator()<First>(of, into, from);
                         (watch_one.template operator()<Rest>(of, into, from), ...);
                       }};
  };
  return build(First, name);
}

template <class Impl>
struct Check {
  std::string id;     // "01.2"
  std::string title;  // "broadcast shape"
  Piece<Impl> piece;
  std::string section;               // the heading in the lesson's README
  std::string why;                   // why this check exists, for `explain`
  std::array<std::string, 3> hints;  // a question; the formula with shapes; the loop in words
  Source solution;
  std::function<void(Grader&, const Impl&)> run;
};

template <class Impl>
struct Lesson {
  int number;
  std::string folder;  // "lessons/01_tensors"
  std::string title;
  Impl reference, learner;
  std::vector<Check<Impl>> checks;
  std::function<void(Demo&, const Impl&)> demo;
  std::string exercise = "exercise.cpp";          // in the folder
  std::function<std::string()> unavailable = {};  // the reason why this machine cannot run the lesson, "" if it can
  // Whether this build checks what kernels access in memory. A lesson without kernels leaves it empty.
  std::function<bool()> checks_accesses = {};
};

// The exit status on a machine that cannot run the lesson. CTest counts such a test as skipped.
inline constexpr int kUnavailable = 77;

// Check and Lesson without the type Impl, for the commands.
struct CheckEntry {
  std::string id, title, piece, section, why;
  std::array<std::string, 3> hints;
  Source solution;
  std::function<void(Grader&, bool learner)> run;
};
struct LessonEntry {
  int number;
  std::string folder, title, exercise_file;
  std::vector<CheckEntry> checks;
  std::function<void(Demo&, const std::set<std::string>& learner_pieces)> demo;
  std::function<std::string()> unavailable;
  std::function<bool()> checks_accesses = {};

  std::string program() const { return "./lesson" + std::to_string(number); }
  std::string exercise() const { return folder + "/" + exercise_file; }
};

// The whole command line of ./lessonN. Returns the exit status.
int run_lesson(const LessonEntry& lesson, int argc, char** argv);
// Returns 0 if the checks are ok on the plain answers and report each mutant as its row says, otherwise 1; kUnavailable
// if this machine cannot run the lesson.
int run_mutants(const LessonEntry& plain, const std::vector<std::pair<MutantRow, LessonEntry>>& mutants);

// `lesson` must outlive the result.
template <class Impl>
LessonEntry entry_of(const Lesson<Impl>& lesson, const Impl& learner) {
  LessonEntry entry{lesson.number,      lesson.folder,         lesson.title, lesson.exercise, {}, {},
                    lesson.unavailable, lesson.checks_accesses};
  for (const Check<Impl>& check : lesson.checks) {
    entry.checks.push_back({check.id, check.title, check.piece.name, check.section, check.why, check.hints,
                            check.solution, [&lesson, &check, from = learner](Grader& grader, bool learners) {
                              Impl impl = lesson.reference;
                              if (learners) check.piece.take(impl, from);
                              check.run(grader, impl);
                            }});
  }
  entry.demo = [&lesson, from = learner](Demo& demo, const std::set<std::string>& learner_pieces) {
    Impl impl = lesson.reference;
    for (const Check<Impl>& check : lesson.checks) {
      if (learner_pieces.contains(check.piece.name)) check.piece.watch(impl, from);
    }
    lesson.demo(demo, impl);
  };
  return entry;
}

template <class Impl>
int run_lesson(const Lesson<Impl>& lesson, int argc, char** argv) {
  const LessonEntry entry = entry_of(lesson, lesson.learner);
  if (Mutants<Impl>::all().empty()) return run_lesson(entry, argc, argv);
  std::vector<std::pair<MutantRow, LessonEntry>> mutants;
  for (const Mutant<Impl>& mutant : Mutants<Impl>::all()) {
    Impl wrong = lesson.learner;
    mutant.apply(wrong);
    mutants.emplace_back(mutant.row(), entry_of(lesson, wrong));
  }
  return run_mutants(entry, mutants);
}

}  // namespace pg::kit

#pragma once
// Known wrong answers to a lesson, as rows of tables in lessons/NN_name/mutants*.cpp (or mutants*.cu). The program
// lessonN_mutants runs the checks on each: the named check must be WRONG and its diagnosis must contain the words in
// `says`; the others must stay ok. A row that says "ok" is a right but unusual answer, and all checks must accept it.
#include <functional>
#include <string>
#include <vector>

#include "lessons/kit/mistakes.h"

namespace pg::kit {

struct MutantRow {
  std::string name;
  std::string check;      // "03.3"
  std::string says;       // text that the diagnosis must contain; "ok": the answer is right
  std::string also = "";  // other checks that must be WRONG too: "07.2 07.3"
  // "speed": run only in an optimised build; "simulator": only where Lesson::checks_accesses() is true
  std::string needs = "";

  bool right() const { return says == "ok"; }
};

template <class Impl>
struct Mutant {
  std::string name, check, says;
  std::function<void(Impl&)> apply;  // replaces members of the plain answers
  std::string also = "", needs = "";

  MutantRow row() const { return {name, check, says, also, needs}; }
};

// A table of a lesson; each one adds its rows. A program that contains one runs them instead of the lesson's commands.
template <class Impl>
struct Mutants {
  Mutants(std::initializer_list<Mutant<Impl>> rows) { all().insert(all().end(), rows); }
  // The known mistakes of a member, and other answers in its place; and what all of them need.
  template <class F>
  Mutants(F Impl::*member, const std::vector<KnownMistake<F>>& mistakes,
          const std::vector<KnownMistake<F>>& others = {}, const std::string& needs = "") {
    for (const auto* rows : {&mistakes, &others}) {
      for (const KnownMistake<F>& row : *rows) {
        all().push_back({row.name, row.check, row.says, [=, wrong = row.wrong](Impl& m) { m.*member = wrong; },
                         row.also, needs.empty() ? row.needs : needs});
      }
    }
  }
  static std::vector<Mutant<Impl>>& all() {
    static std::vector<Mutant<Impl>> rows;
    return rows;
  }
};

}  // namespace pg::kit

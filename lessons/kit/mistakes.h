#pragma once
// The known mistakes of a piece, each written once: a wrong answer, and what a check says of it. A check calls the
// wrong answers for the values that a learner with such a mistake gets; lessonN_mutants runs them as answers
// (kit/mutants.h).
#include <algorithm>
#include <string>
#include <vector>

#include "lessons/kit/diagnose.h"

namespace pg::kit {

template <class F>
struct KnownMistake {
  const char* name;   // "softmax_columns"
  const char* check;  // "03.1"
  const char* says;   // "the columns sum to 1; the rows should"
  F wrong;
  const char* also = "";  // other checks that find it: "07.2 07.3"
};

namespace detail {
template <class Impl, class F>
F type_of_member(F Impl::*);
}
// Those of one member of Impl, as in Mistakes<&Impl::softmax>. Where two give the same values, the first is named.
template <auto Member>
using Mistakes = std::vector<KnownMistake<decltype(detail::type_of_member(Member))>>;

// The mistakes that a check is there for, and then the others: where two give the same values, the first is named.
template <class F>
std::vector<KnownMistake<F>> first_of(const std::string& check, std::vector<KnownMistake<F>> rows) {
  std::stable_partition(rows.begin(), rows.end(), [&](const KnownMistake<F>& row) { return row.check == check; });
  return rows;
}
// What each wrong answer returns for the arguments.
template <class F, class... Args>
std::vector<Mistake> results_of(const std::vector<KnownMistake<F>>& rows, const Args&... args) {
  std::vector<Mistake> all;
  for (const KnownMistake<F>& row : rows) all.push_back({row.says, row.wrong(args...)});
  return all;
}

}  // namespace pg::kit

#pragma once
// The known mistakes of a piece, each written once: a wrong answer, and what a check says of it. A check calls the
// wrong answers for the values that a learner with such a mistake gets (kit/diagnose.h); lessonN_mutants runs them as
// answers (kit/mutants.h). Without tensors: .cu files include this.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pg::kit {

template <class F>
struct KnownMistake {
  const char* name;   // "softmax_columns"
  const char* check;  // "03.1"
  const char* says;   // "the columns sum to 1; the rows should"
  F wrong;
  const char* also = "";   // other checks that find it: "07.2 07.3"
  const char* needs = "";  // as in kit/mutants.h
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

// The name of a mistake as an argument of a template, so that no enum lists the mistakes of wrong answers again:
//   template <Name mistake> double wrong_mean(...) { ... if (mistake == "no_division") ... }
// and wrong_mean<"no_division"> is a wrong answer. A name that is misspelled makes no mistake: lessonN_mutants reports
// it. Where a template of the whole function takes long to compile, the name is an argument of the function, and
// wrong<mean, "no_division"> is the wrong answer:
//   double mean(std::string_view mistake, ...)
template <size_t n>
struct Name {
  char text[n]{};
  constexpr Name(const char (&name)[n]) { std::copy_n(name, n, text); }
  constexpr operator std::string_view() const { return {text, n - 1}; }
  constexpr bool operator==(std::string_view other) const { return std::string_view(*this) == other; }
};

namespace detail {
template <auto f, Name mistake, class Result, class... Args>
constexpr auto with_mistake(Result (*)(std::string_view, Args...)) {
  return +[](Args... args) -> Result { return f(mistake, args...); };
}
}  // namespace detail
// f whose first argument is the name.
template <auto f, Name mistake>
constexpr auto wrong = detail::with_mistake<f, mistake>(f);

}  // namespace pg::kit

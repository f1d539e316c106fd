#pragma once
// The catalogue of known mistakes. Each is a transformation of the expected values. If one reproduces the learner's
// values to 1e-6, its name is more useful than any difference. Values that agree with the expected ones to 1e-6 were
// computed in float: they are not searched for any other mistake.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lessons/kit/mistakes.h"
#include "lessons/kit/value.h"

namespace pg::kit {

// A mistake that is specific to one check: the values it gives, and the message.
struct Mistake {
  std::string says;
  Value value;
};
// What call(wrong answer) returns for each; one that throws is left out.
template <class F, class Call>
std::vector<Mistake> values_of(const std::vector<KnownMistake<F>>& rows, const Call& call) {
  std::vector<Mistake> all;
  for (const KnownMistake<F>& row : rows) {
    try {
      all.push_back({row.says, call(row.wrong)});
    } catch (const Error&) {
    }
  }
  return all;
}
// What each wrong answer returns for the arguments.
template <class F, class... Args>
std::vector<Mistake> results_of(const std::vector<KnownMistake<F>>& rows, const Args&... args) {
  return values_of(rows, [&](F wrong) { return wrong(args...); });
}

// How a check compares.
struct Compare {
  double rtol = 1e-9;               // on the largest difference relative to the largest expected value; 0: every bit
  std::vector<Mistake> mistakes{};  // specific to this check; tried before the catalogue
  std::optional<Value> before{};    // the previous content of the result, if results are added to it
  bool gradient = false;            // the values are a gradient: all zero means that none arrives
  std::function<std::vector<Mistake>()> more_mistakes{};  // after those above; called only if the values are wrong
};

// The error of `got`, in one sentence, or "" if no known mistake explains it.
std::string diagnose(const Value& got, const Value& want, const Compare& how = {});

}  // namespace pg::kit

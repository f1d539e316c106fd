#pragma once
// Decides whether an answer in mathematics equals the expected one: exactly where a normal form decides, else by
// evaluation. docs/GRADER.md lists the notation and the decisions.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pg {

// What bounds the work of one verdict. There is no timer: the same texts give the same verdict on every machine.
struct GradeLimits {
  int64_t bytes = 10000;   // of each text
  int64_t depth = 60;      // of nesting
  int64_t steps = 200000;  // of each stage: reading, normal form, evaluation
  int64_t bits = 20000;    // of a number
};

struct Verdict {
  enum class Kind { yes, no, unknown } kind;
  std::string reason;     // one sentence without a full stop
  std::string rule = {};  // what decided, a row of verdict_rules()
  int64_t steps = 0;      // of work
};
// What can decide a verdict, and what it means.
struct VerdictRule {
  std::string_view name, about;
};
std::span<const VerdictRule> verdict_rules();
// "yes", "no" or "unknown".
std::string_view name_of(Verdict::Kind kind);

// Compares `given`, the answer or a text that states it (find_answer in extract.h), with `gold`. Throws nothing for any
// bytes: what cannot be read or decided within the limits is `unknown`. Any number of threads may call it.
Verdict grade_answer(std::string_view given, std::string_view gold, const GradeLimits& limits = {});

// The form that grade_answer reads in a text, such as "(quotient 1 2)"; for --explain and for tests of the parser.
std::string describe_answer(std::string_view text, const GradeLimits& limits = {});

// Whether `given` is in simplified form, of the kind that `gold` has; docs/GRADER.md has the rules. It does not compare
// values: grade_answer() does. The order of terms, factors and elements does not matter. If `gold` has none of the
// forms, only the same text is in it. False for what cannot be read within the limits.
bool is_simplified(std::string_view given, std::string_view gold, const GradeLimits& limits = {});

}  // namespace pg

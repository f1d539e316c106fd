#pragma once
// The interface for checks: compares the learner's results with the expected ones and keeps what is shown.
#include <functional>
#include <string>
#include <vector>

#include "lessons/kit/diagnose.h"

namespace pg::kit {

enum class State { ok, wrong, todo };

// One comparison: the input, the learner's result, the expected result. Where these are too long to print and differ,
// `row` names the row of the worst element, and got_row and want_row are its numbers.
struct Case {
  std::string input, got, want;
  std::string row{}, got_row{}, want_row{};
};
struct Outcome {
  State state = State::ok;
  std::string note;       // for an ok: what was tried, and how close it came
  std::string diagnosis;  // for a WRONG: "" if no known mistake explains it
  Case failure;
  std::vector<Case> cases;  // the first few comparisons, the failing one last
  double seconds = 0;
  bool crashed = false;  // the process of the check ended by a signal
  bool drawn = false;    // its inputs are random (challenge.h)
};

class Grader {
 public:
  // With `shows_cases` each comparison is printed as soon as it is made, and the first failure ends the check.
  explicit Grader(bool shows_cases = false) : shows_cases_(shows_cases) {}
  // Compares values; `input` describes the input in a few words. After the first failure nothing more is judged. The
  // caller may return when a call returns false.
  bool equal(const std::string& input, const Value& got, const Value& want, const Compare& how = {});
  // For anything other than values.
  bool expect(bool ok, const std::string& input, const std::string& got, const std::string& want,
              const std::string& diagnosis = "");
  // `call` must throw pg::Error with a text that contains `words`; "" accepts every text. `advice` is what to say if it
  // throws nothing.
  bool expect_error(const std::string& input, const std::function<void()>& call, const std::string& words = "",
                    const std::string& advice = "refuse what cannot be right: check(condition, \"name: ...\")");
  // Text shown after an ok instead of "N comparisons, worst error …".
  void note(const std::string& text) { note_ = text; }

  bool failed() const { return failed_; }
  double worst_error() const { return worst_; }
  Outcome outcome() const;

 private:
  bool judge(bool ok, Case shown, const std::string& diagnosis);

  const bool shows_cases_;
  bool failed_ = false;
  int comparisons_ = 0;
  double worst_ = 0;
  std::string note_;
  Outcome outcome_;
};

// A wrong result, as text, and what to say of it.
struct KnownText {
  std::string gives, says;
};
// Compares results as text. `otherwise` is what to say of a wrong result that is not known.
bool same_text(Grader& g, const std::string& input, const std::string& got, const std::string& want,
               const std::vector<KnownText>& known = {}, const std::string& otherwise = "");

// Runs `body` and turns what it throws into an outcome: Todo into TODO, any other exception into WRONG.
Outcome grade(const std::function<void(Grader&)>& body, bool shows_cases = false);

// The current exception: "an exception: " and its text, or its type if it is no std::exception.
std::string describe_exception();

// What to say of an exception that is no pg::Error, where an error is right.
extern const char* const kForeignError;

// Whether speed may be judged: an optimised build without sanitizers.
bool optimized_build();

}  // namespace pg::kit

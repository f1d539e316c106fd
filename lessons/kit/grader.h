#pragma once
// What a check calls: compares the learner's results with the expected ones and keeps what a learner needs to see.
#include <functional>
#include <string>
#include <vector>

#include "lessons/kit/diagnose.h"

namespace pg::kit {

enum class State { ok, wrong, todo };

// One comparison: what went in, what came, what was wanted.
struct Case {
  std::string input, got, want;
};
struct Outcome {
  State state = State::ok;
  std::string note;       // of an ok: what was tried, and how close it came
  std::string diagnosis;  // of a WRONG: "" when no known mistake explains it
  Case failure;
  std::vector<Case> cases;  // the first few comparisons, the failing one last
  double seconds = 0;
};

struct Compare {
  double rtol = 1e-9;               // on the largest difference against the largest expected number
  std::vector<Mistake> mistakes{};  // known to this check only; tried before the catalogue
  std::optional<Value> before{};    // what the result held before, where results are added
};

class Grader {
 public:
  // Compares numbers; `input` says in a few words what went in. After the first failure nothing more is judged. A
  // call that returns false may be followed by a return.
  bool equal(const std::string& input, const Value& got, const Value& want, const Compare& how = {});
  // For anything that is no number.
  bool expect(bool ok, const std::string& input, const std::string& got, const std::string& want,
              const std::string& diagnosis = "");
  // `call` must throw pg::Error whose text contains `words`.
  bool expect_error(const std::string& input, const std::function<void()>& call, const std::string& words);
  // Shown behind an ok instead of "N comparisons, worst error …".
  void note(const std::string& text) { note_ = text; }

  bool failed() const { return failed_; }
  double worst_error() const { return worst_; }
  Outcome outcome() const;

 private:
  bool judge(bool ok, Case shown, const std::string& diagnosis);

  bool failed_ = false;
  int comparisons_ = 0;
  double worst_ = 0;
  std::string note_;
  Outcome outcome_;
};

// Runs `body` and turns what it throws into an outcome: Todo into TODO, any other exception into WRONG.
Outcome grade(const std::function<void(Grader&)>& body);

// The exception being handled: "an exception: " and its text, or its type where it is no std::exception.
std::string describe_exception();

// True where speed may be judged: an optimised build without sanitizers.
bool optimized_build();

}  // namespace pg::kit

#pragma once
// What an evaluation found, as a table for reading and as JSON.
#include <string>
#include <vector>

#include "rl/text/evaluation.h"
#include "tools/pg/eval/eval_results.h"

namespace pg::tools {

struct EvaluatedModel {
  std::string run;  // as the user named it
  int64_t step = 0;
  rl::EvalSummary summary;
};
// A row is a number with its interval, a column a model: A, B …
struct EvalReport {
  std::string task, how;  // a line each: the task, and how it was asked
  std::vector<EvaluatedModel> models;

  // Models after the first, compared with it.
  std::vector<rl::EvalComparison> comparisons() const;
  std::string text() const;
  std::string markdown() const;
  // `settings` and then the results.
  Json json(const Json& settings) const;
};

}  // namespace pg::tools

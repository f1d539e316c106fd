#pragma once
// pg eval --task: models on the held-out problems of a task.
#include <string>
#include <vector>

#include "tools/pg/cli/options.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {

struct EvalTaskOptions {
  TextRlOptions common;              // of it the task only
  std::vector<std::string> against;  // models beside the first
  int64_t problems = 200, samples = 1, max_rows = 256;
  std::string k;  // "1,8"; empty: 1 and samples
  double temperature = 1;
  bool greedy = false;
  uint64_t seed = 1;
  std::string out;  // a folder for the results; empty: none
  bool audit = false;
};
// All but the options of the task.
std::vector<Field> fields(EvalTaskOptions& options);

// What both kinds of evaluation take.
struct EvalModelOptions {
  std::string run, device = "cpu", adapter;
  bool best = false, exact = false, json = false;
  int threads = 0;
};
// Whether `run` is a run or checkpoint that was trained or evaluated on a task.
bool has_task(const std::string& run);
// Options that are not given are those that the run was trained with: its task, the options of that task, and how it
// was asked. With another task than the run's the options of the run's task do not count.
int evaluate_task(EvalTaskOptions& options, const EvalModelOptions& model, Given& given);

}  // namespace pg::tools

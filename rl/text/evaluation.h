#pragma once
// Evaluation of a model on a task: responses to problems, and what they say about the model, with intervals.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/decode/generate.h"
#include "rl/methods/statistics.h"
#include "tasks/text/text_task.h"

namespace pg::rl {

// A response with everything that a result is computed from.
struct EvalResponse {
  int64_t problem = 0, sample = 0;
  std::string question, response;  // without the token that ends it
  // What it votes for: the first answer to the problem that is the same as its own (TextTask::answer_of, same_answer).
  // None: it does not vote.
  std::optional<std::string> answer;
  std::string expected;  // a right answer; empty if the task does not know one
  double reward = 0;
  std::vector<std::pair<std::string, double>> parts;  // of the reward
  bool solved = false, finished = false;              // finished: it ended by itself
  int64_t length = 0;                                 // tokens that the model wrote
  std::string subject;                                // of the problem; may be empty
  std::string described;                              // the problem for reports (TextTask::described); may be empty
  int level = 0;                                      // of the problem; 0: none
};

// The problem as results show it: its puzzle's question, or its prompt.
std::string question_of(const TextTask& task, const Problem& problem);

struct EvalConfig {
  int64_t samples = 1;  // per problem
  double temperature = 1;
  bool greedy = false;
  uint64_t seed = 1;  // response s to problem p uses random stream p·samples + s, whatever is evaluated at a time
  Sampler* sampler = nullptr;  // of the model, kept between calls; null: each call has its own
};
// Replaces each answer by the first one to the problem that is the same. After 32 different answers only the same text
// counts, so that the cost is bounded.
void join_same_answers(const TextTask& task, const Problem& problem, std::span<EvalResponse> of_problem);

// The responses to problems [first, last): those to one problem are neighbours. The result does not depend on how the
// problems are divided into calls; on a GPU that needs Backend::set_exact.
std::vector<EvalResponse> evaluate(Transformer& model, const TextTask& task, const std::vector<Problem>& problems,
                                   int64_t first, int64_t last, const EvalConfig& config);

struct EvalAtK {
  int64_t k = 1;
  Estimate pass, majority;
};
struct EvalGroup {
  std::string name;
  int64_t problems = 0;
  Estimate solved;
};
struct EvalSummary {
  int64_t problems = 0, samples = 0;
  std::vector<double> solved_shares;                  // [problems]: of the responses to each problem
  Estimate solved, reward;                            // means over problems
  std::vector<std::pair<std::string, double>> parts;  // means of the parts of the reward
  double length = 0, truncated = 0;                   // mean tokens, share of responses that ran into the limit
  double answered = 0;                                // share of responses with an answer in the form asked for
  std::vector<EvalAtK> at_k;
  std::vector<EvalGroup> subjects, levels;  // in order of name and level; empty if the problems have none
};
// The summary of the responses that evaluate() returns; each problem has `samples` of them. Error for a k above
// `samples`.
EvalSummary summarize(std::span<const EvalResponse> responses, int64_t samples, std::span<const int64_t> ks);

// A second model beside a first one on the same problems.
struct EvalComparison {
  Estimate difference;                      // of the shares solved, the second minus the first: the paired bootstrap
  int64_t only_first = 0, only_second = 0;  // problems that only one of them solves; with one sample
  std::optional<double> mcnemar;            // p; none with several samples, where solving a problem is not yes or no
};
EvalComparison compare(const EvalSummary& first, const EvalSummary& second);

}  // namespace pg::rl

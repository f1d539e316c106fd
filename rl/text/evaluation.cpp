// Responses of a model to problems of a task, and their summary.
#include "rl/text/evaluation.h"

#include <algorithm>
#include <map>

#include "rl/text/rollout.h"
#include "tasks/puzzles/puzzle.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

std::string text_without_end(const TextTask& task, std::span<const int32_t> ids) {
  if (!ids.empty() && ids.back() == task.end_id()) ids = ids.first(ids.size() - 1);
  return task.text(ids);
}

// The values of problems, by problem: f of the `samples` responses to each.
template <class F>
std::vector<double> by_problem(std::span<const EvalResponse> responses, int64_t samples, F f) {
  std::vector<double> values;
  const auto step = static_cast<size_t>(samples);
  for (size_t i = 0; i < responses.size(); i += step) values.push_back(f(responses.subspan(i, step)));
  return values;
}

template <class F>
double mean_of(std::span<const EvalResponse> responses, F f) {
  double sum = 0;
  for (const EvalResponse& r : responses) sum += static_cast<double>(f(r));
  return sum / static_cast<double>(responses.size());
}

int64_t solved_of(std::span<const EvalResponse> responses) {
  return std::ranges::count_if(responses, [](const EvalResponse& r) { return r.solved; });
}

double majority_of(std::span<const EvalResponse> responses, int64_t k) {
  std::map<std::string, AnswerCount> votes;
  int64_t without = 0;
  for (const EvalResponse& r : responses) {
    if (!r.answer) {
      ++without;
      continue;
    }
    AnswerCount& vote = votes[*r.answer];
    ++vote.count;
    vote.right = vote.right || r.solved;
  }
  std::vector<AnswerCount> counts;
  for (const auto& [answer, vote] : votes) counts.push_back(vote);
  return majority_at_k(counts, without, k);
}

// The problems by `key`, which is f of a problem's first response.
template <class Key, class F>
std::vector<EvalGroup> groups_of(std::span<const EvalResponse> responses, const EvalSummary& summary, F key,
                                 const Key& none) {
  std::map<Key, std::vector<double>> shares;
  for (size_t p = 0; p < summary.solved_shares.size(); ++p) {
    shares[key(responses[p * static_cast<size_t>(summary.samples)])].push_back(summary.solved_shares[p]);
  }
  std::vector<EvalGroup> groups;
  if (shares.size() == 1 && shares.begin()->first == none) return groups;
  for (const auto& [name, values] : shares) {
    groups.push_back({name == none ? "none" : fmt::format("{}", name), std::ssize(values), estimate(values)});
  }
  return groups;
}

}  // namespace

std::string question_of(const TextTask& task, const Problem& problem) {
  return problem.puzzle && !problem.puzzle->question.empty() ? problem.puzzle->question : task.text(problem.prompt);
}

void join_same_answers(const TextTask& task, const Problem& problem, std::span<EvalResponse> of_problem) {
  constexpr size_t kCompared = 32;
  std::vector<std::string> different;
  for (EvalResponse& r : of_problem) {
    if (!r.answer || std::ranges::find(different, *r.answer) != different.end()) continue;
    const auto compared = different.begin() + static_cast<std::ptrdiff_t>(std::min(different.size(), kCompared));
    const auto same = std::find_if(different.begin(), compared, [&](const std::string& other) {
      return task.same_answer(problem, *r.answer, other);
    });
    if (same == compared) {
      different.push_back(*r.answer);
    } else {
      r.answer = *same;
    }
  }
}

std::vector<EvalResponse> evaluate(Transformer& model, const TextTask& task, const std::vector<Problem>& problems,
                                   int64_t first, int64_t last, const EvalConfig& config) {
  check(0 <= first && first <= last && last <= std::ssize(problems), "evaluate: problems {} to {} of {}", first, last,
        problems.size());
  check(config.samples >= 1, "evaluate: {} samples per problem", config.samples);
  check(!config.greedy || config.samples == 1,
        "evaluate: greedy responses to a problem are all equal; {} samples of it", config.samples);
  const std::vector<Problem> asked(problems.begin() + first, problems.begin() + last);
  const Experience experience = rollout(model, task, asked,
                                        {.samples = config.samples,
                                         .temperature = config.temperature,
                                         .greedy = config.greedy,
                                         .seed = config.seed,
                                         .first_row = static_cast<uint64_t>(first * config.samples),
                                         .sampler = config.sampler});
  std::vector<EvalResponse> all;
  for (size_t i = 0; i < experience.responses.size(); ++i) {
    const Response& r = experience.responses[i];
    const auto row = static_cast<int64_t>(i);
    const Problem& problem = asked[static_cast<size_t>(row / config.samples)];
    EvalResponse e;
    e.problem = first + row / config.samples;
    e.sample = row % config.samples;
    e.question = question_of(task, problem);
    e.response = text_without_end(task, r.tokens);
    e.answer = task.answer_of(r.tokens);
    e.expected = problem.puzzle ? problem.puzzle->answer : text_without_end(task, problem.answer);
    e.reward = r.score.reward;
    e.parts = r.score.parts;
    e.solved = r.score.solved;
    e.finished = r.finished;
    e.length = r.length();
    if (problem.puzzle) {
      e.subject = problem.puzzle->subject;
      e.level = problem.puzzle->level;
      e.described = task.described(*problem.puzzle);
    }
    all.push_back(std::move(e));
  }
  const auto samples = static_cast<size_t>(config.samples);
  for (size_t i = 0; i < asked.size(); ++i)
    join_same_answers(task, asked[i], std::span(all).subspan(i * samples, samples));
  return all;
}

EvalSummary summarize(std::span<const EvalResponse> responses, int64_t samples, std::span<const int64_t> ks) {
  check(samples >= 1 && !responses.empty() && std::ssize(responses) % samples == 0,
        "summarize: {} responses, {} to each problem", responses.size(), samples);
  EvalSummary s;
  s.samples = samples;
  s.problems = std::ssize(responses) / samples;
  s.solved_shares = by_problem(responses, samples, [&](auto of_problem) {
    return static_cast<double>(solved_of(of_problem)) / static_cast<double>(samples);
  });
  s.solved = estimate(s.solved_shares);
  s.reward = estimate(by_problem(responses, samples, [](auto of_problem) {
    return mean_of(of_problem, [](const EvalResponse& r) { return r.reward; });
  }));
  std::map<std::string, double> parts;
  for (const EvalResponse& r : responses) {
    for (const auto& [name, value] : r.parts) parts[name] += value / static_cast<double>(responses.size());
  }
  s.parts.assign(parts.begin(), parts.end());
  s.length = mean_of(responses, [](const EvalResponse& r) { return r.length; });
  s.truncated = mean_of(responses, [](const EvalResponse& r) { return !r.finished; });
  s.answered = mean_of(responses, [](const EvalResponse& r) { return r.answer.has_value(); });
  for (const int64_t k : ks) {
    s.at_k.push_back(
        {k,
         estimate(by_problem(responses, samples,
                             [&](auto of_problem) { return pass_at_k(samples, solved_of(of_problem), k); })),
         estimate(by_problem(responses, samples, [&](auto of_problem) { return majority_of(of_problem, k); }))});
  }
  s.subjects = groups_of(
      responses, s, [](const EvalResponse& r) { return r.subject; }, std::string());
  s.levels = groups_of(
      responses, s, [](const EvalResponse& r) { return r.level; }, 0);
  return s;
}

EvalComparison compare(const EvalSummary& first, const EvalSummary& second) {
  check(first.problems == second.problems && first.samples == second.samples,
        "compare: {} problems with {} samples, and {} with {}", first.problems, first.samples, second.problems,
        second.samples);
  EvalComparison c;
  std::vector<double> differences;
  for (size_t p = 0; p < first.solved_shares.size(); ++p) {
    differences.push_back(second.solved_shares[p] - first.solved_shares[p]);
    c.only_first += differences.back() < 0;
    c.only_second += differences.back() > 0;
  }
  for (const double d : differences) c.difference.value += d / static_cast<double>(differences.size());
  c.difference.interval = bootstrap_interval(differences);
  if (first.samples == 1) c.mcnemar = mcnemar_p(c.only_first, c.only_second);
  return c;
}

}  // namespace pg::rl

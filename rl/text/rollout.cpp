// Samples responses to problems of a task and scores them.
#include "rl/text/rollout.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "rl/text/models.h"
#include "tensor/base/error.h"

namespace pg::rl {
namespace {

// Exhaustive first step: V rows per prompt, row v starts with token v.
std::vector<Generated> begin_with_every_token(Sampler& policy, const TextTask& task,
                                              const std::vector<std::vector<int32_t>>& prompts, GenerateOptions g) {
  check(g.samples == task.vocab_size() && task.max_answers() == 0,
        "rollout: exhaustive means {} samples, one for each token, of a task of one turn; got {} of {}",
        task.vocab_size(), g.samples, task.name());
  std::vector<std::vector<int32_t>> begun;
  for (const auto& prompt : prompts) {
    for (int64_t v = 0; v < g.samples; ++v) {
      begun.push_back(prompt);
      begun.back().push_back(static_cast<int32_t>(v));
    }
  }
  g.samples = 1;
  g.max_new_tokens -= 1;
  if (g.stop) {  // it must see the first token too
    g.stop = [inner = g.stop, &begun](int64_t row, std::span<const int32_t> tokens) {
      std::vector<int32_t> all = {begun[static_cast<size_t>(row)].back()};
      all.insert(all.end(), tokens.begin(), tokens.end());
      return inner(row, all);
    };
  }
  std::vector<Generated> rows = policy.generate(begun, g);
  for (size_t i = 0; i < rows.size(); ++i) {
    const int32_t first = begun[i].back();
    if (first == task.end_id()) {
      rows[i] = {};
      rows[i].finish = FinishReason::stop;
    }
    rows[i].tokens.insert(rows[i].tokens.begin(), first);
    rows[i].log_probs.insert(rows[i].log_probs.begin(), 0);
    rows[i].action_mask.insert(rows[i].action_mask.begin(), 1);
  }
  return rows;
}

// The log-probability of a token that was not sampled is the policy's own.
void score_first_tokens(const Transformer& policy, Experience& experience, double temperature) {
  NoGrad no_grad;
  for (Response& r : experience.responses) {
    const Response* one = &r;
    const TokenRows rows = token_rows({&one, 1});
    const std::vector<double> all = score_tokens(policy, rows, temperature).log_prob.to_vector();
    r.sampler_log_probs.assign(all.begin() + rows.prompts[0] - 1, all.end());
  }
}

// In parts, for the memory of the forward pass.
void measure_entropy(Transformer& policy, Experience& experience, double temperature) {
  constexpr int64_t kRows = 16;
  NoGrad no_grad;
  EvalMode eval_mode(policy);
  std::vector<Response>& all = experience.responses;
  in_chunks(std::ssize(all), kRows, [&](int64_t begin, int64_t end) {
    std::vector<const Response*> part;
    for (int64_t i = begin; i < end; ++i) part.push_back(&all[static_cast<size_t>(i)]);
    const std::vector<double> entropy = score_tokens(policy, token_rows(part), temperature).entropy.to_vector();
    const size_t columns = entropy.size() / part.size();
    for (size_t i = 0; i < part.size(); ++i) {
      const auto row = std::span(entropy).subspan(i * columns, columns);
      all[static_cast<size_t>(begin) + i].entropy = std::accumulate(row.begin(), row.end(), 0.0);
    }
  });
}

}  // namespace

void check_scores(std::span<const Response> responses, const TextTask& task, std::string_view who) {
  const auto first_of = [&](const std::vector<int32_t>& ids) {
    constexpr size_t kShown = 40;
    return ids.size() <= kShown ? task.text(ids) : task.text(std::span(ids).first(kShown)) + " ...";
  };
  for (const Response& r : responses) {
    const auto finite = [&](double value, const std::string& what) {
      if (std::isfinite(value)) return;
      fail("{} pays {} of {} (task {}, problem \"{}\", response \"{}\"); a reward must be finite", who, what, value,
           task.name(), first_of(r.prompt), first_of(r.tokens));
    };
    for (const auto& [name, value] : r.score.parts) finite(value, fmt::format("a reward part \"{}\"", name));
    for (size_t t = 0; t < r.score.per_token.size(); ++t) {
      finite(r.score.per_token[t], fmt::format("a reward for token {}", t));
    }
    finite(r.score.reward, "a reward");
  }
}

Experience rollout(Transformer& policy, const TextTask& task, const std::vector<Problem>& problems,
                   const RolloutOptions& o) {
  check(block_size_for(task) <= policy.config.block_size, "rollout: {} needs a block_size of {}, the model has {}",
        task.name(), block_size_for(task), policy.config.block_size);
  const auto problem_of = [&](int64_t row) -> const Problem& { return problems[static_cast<size_t>(row / o.samples)]; };
  GenerateOptions g{.max_new_tokens = task.max_response(),
                    .samples = o.samples,
                    .max_rows = o.max_rows,
                    .greedy = o.greedy,
                    .sampling = {.temperature = o.temperature},
                    .seed = o.seed,
                    .first_row = o.first_row,
                    .log_prob_at_temperature = true,
                    .should_stop = o.should_stop};
  if (task.end_id() >= 0) g.stop_ids = {task.end_id()};
  std::vector<std::string> stops = task.stop_texts();
  stops.insert(stops.end(), o.stop_strings.begin(), o.stop_strings.end());
  if (!stops.empty()) {
    size_t longest = 0;
    for (const std::string& stop : stops) longest = std::max(longest, stop.size());
    g.stop = [&task, stops, longest](int64_t, std::span<const int32_t> tokens) {
      // A token has a byte or more. One token is more than enough: the first of --exhaustive comes with the second.
      const std::string text = task.text(tokens.last(std::min(tokens.size(), longest + 1)));
      return std::ranges::any_of(stops, [&](const auto& stop) { return text.find(stop) != std::string::npos; });
    };
  }
  if (task.max_answers() > 0) {
    g.respond = [&](int64_t row, std::span<const int32_t> tokens) { return task.respond(problem_of(row), tokens); };
  }
  std::vector<std::vector<int32_t>> prompts;
  for (const Problem& problem : problems) prompts.push_back(problem.prompt);
  Experience experience;
  experience.samples = o.samples;
  g.stats = &experience.work;
  Sampler own(policy);
  Sampler& sampler = o.sampler ? *o.sampler : own;
  std::vector<Generated> rows =
      o.exhaustive ? begin_with_every_token(sampler, task, prompts, g) : sampler.generate(prompts, g);
  if (o.should_stop && o.should_stop()) {
    experience.responses.resize(rows.size());
    return experience;
  }

  for (size_t i = 0; i < rows.size(); ++i) {
    const Problem& problem = problem_of(static_cast<int64_t>(i));
    Response r;
    set_problem(r, problem);
    r.tokens = std::move(rows[i].tokens);
    r.action_mask = std::move(rows[i].action_mask);
    r.finished = rows[i].finish == FinishReason::stop || task.end_id() < 0;
    r.sampler_log_probs = std::move(rows[i].log_probs);
    r.score = task.score(problem, r.tokens);
    check_scores({&r, 1}, task, "the task");
    experience.responses.push_back(std::move(r));
  }
  if (o.exhaustive) score_first_tokens(policy, experience, o.temperature);
  if (o.entropy) measure_entropy(policy, experience, o.temperature);
  return experience;
}

}  // namespace pg::rl

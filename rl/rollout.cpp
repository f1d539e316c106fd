#include "rl/rollout.h"

#include <algorithm>

#include "nn/generate.h"
#include "tensor/error.h"

namespace pg::rl {
Experience rollout(Gpt2& policy, const TextTask& task, const std::vector<Problem>& problems, const RolloutOptions& o) {
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
                    .tempered = true};
  if (task.end_id() >= 0) g.stop_ids = {task.end_id()};
  if (!o.stop_strings.empty()) {
    g.stop = [&](int64_t, std::span<const int32_t> tokens) {
      const std::string text = task.text(tokens);
      return std::any_of(o.stop_strings.begin(), o.stop_strings.end(),
                         [&](const std::string& stop) { return text.find(stop) != std::string::npos; });
    };
  }
  if (task.max_answers() > 0) {
    g.respond = [&](int64_t row, std::span<const int32_t> tokens) { return task.respond(problem_of(row), tokens); };
  }
  std::vector<std::vector<int32_t>> prompts;
  for (const Problem& problem : problems) prompts.push_back(problem.prompt);
  std::vector<Generated> rows = generate(policy, prompts, g);

  Experience experience;
  experience.samples = o.samples;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Problem& problem = problem_of(static_cast<int64_t>(i));
    Response r;
    r.prompt = problem.prompt;
    r.tokens = std::move(rows[i].tokens);
    r.chosen = std::move(rows[i].chosen);
    r.finished = rows[i].finish == FinishReason::stop || task.end_id() < 0;
    r.sampler_log_probs = std::move(rows[i].log_probs);
    r.score = task.score(problem, r.tokens);
    set_rewards(r);
    experience.responses.push_back(std::move(r));
  }
  return experience;
}

}  // namespace pg::rl

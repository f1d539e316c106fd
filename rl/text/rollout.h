#pragma once
// Problems in, groups of scored responses out. Sampling uses the whole softmax at the temperature, for only then is
// what is sampled from what is trained: no top-k, no top-p.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/gpt2.h"
#include "rl/text/experience.h"
#include "tasks/text_task.h"

namespace pg::rl {

struct RolloutOptions {
  int64_t samples = 8;  // responses to each problem
  double temperature = 1;
  bool greedy = false;
  int64_t max_rows = 0;  // responses at a time; 0: all
  uint64_t seed = 0, first_row = 0;
  // A search of the first step: `samples` is the size of the vocabulary, and response v begins with token v, however
  // unlikely. Its log-probability is the policy's, but it was not drawn. For tasks of one turn.
  bool exhaustive = false;
  std::vector<std::string> stop_strings = {};  // a response ends when its text holds one, which may end inside a token
};
// Token ids are carried from sampling to learning, never made from text. The log-probabilities are the trainer's own,
// bit for bit on the CPU. Rewards are those of the task, by token; Score::reward is their sum. Error for a reward that
// is not finite.
Experience rollout(Gpt2& policy, const TextTask& task, const std::vector<Problem>& problems,
                   const RolloutOptions& options);

// Error for the first reward, part of it or reward of a token that is not finite, with who paid it ("the judge"), the
// task, the problem and the response.
void check_scores(std::span<const Response> responses, const TextTask& task, std::string_view who);

// The block_size that a model needs for the task; a reward model reads the last token too.
inline int64_t block_size_for(const TextTask& task) {
  return task.max_prompt() + task.max_response() + task.max_answers();
}

}  // namespace pg::rl

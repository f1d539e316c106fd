#pragma once
// Groups of scored responses to problems. Sampling uses the whole softmax at the temperature, without top-k or top-p:
// only then is the sampled distribution the trained one.
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/decode/generate.h"
#include "rl/text/experience.h"
#include "tasks/text/text_task.h"

namespace pg::rl {

struct RolloutOptions {
  int64_t samples = 8;  // responses per problem
  double temperature = 1;
  bool greedy = false;
  int64_t max_rows = 0;  // responses sampled at a time; 0: all
  uint64_t seed = 0, first_row = 0;
  // Exhaustive first step: `samples` is the size of the vocabulary, and response v starts with token v, however
  // unlikely. The token's log-probability is the policy's, but it was not sampled. For single-turn tasks.
  bool exhaustive = false;
  // They end a response as TextTask::stop_texts() do, even if found inside a token, and stay in it.
  std::vector<std::string> stop_strings = {};
  Sampler* sampler = nullptr;  // of the policy, kept between calls; null: this call has its own
  bool entropy = false;        // Response::entropy is measured, which takes one more forward pass
  // If set, asked between tokens, on this rank only. Once it has answered true, which it must repeat, the responses are
  // without tokens and scores; the caller must not use them.
  std::function<bool()> should_stop = {};
};
// Token ids are passed from sampling to learning and never recomputed from text. The log-probabilities are the
// trainer's own, bit for bit on the CPU. Rewards are those of the task, per token; Score::reward is their sum. Throws
// Error if a reward is not finite.
Experience rollout(Transformer& policy, const TextTask& task, const std::vector<Problem>& problems,
                   const RolloutOptions& options);

// Throws Error for the first reward, reward part or token reward that is not finite, naming its source `who` ("the
// judge"), the task, the problem and the response.
void check_scores(std::span<const Response> responses, const TextTask& task, std::string_view who);

// The block_size that a model needs for the task. A reward model also reads the last token.
inline int64_t block_size_for(const TextTask& task) {
  return task.max_prompt() + task.max_response() + task.max_answers();
}

}  // namespace pg::rl

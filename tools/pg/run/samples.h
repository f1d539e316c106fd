#pragma once
// What a run keeps for `pg report`: responses of its steps, results of its health checks, episodes. Each is a .jsonl
// file in the run's folder, whose lines have a "step", so that RunDir::rewind() removes those that a resumed run
// repeats.
//   samples.jsonl   responses with what each token says (sample_lines)
//   health.jsonl    {"step": 3, "ok": ["first ratio", …], "failed": [{"name": …, "why": …}]}
//   episodes.jsonl  episodes in an environment (episode_line)
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rl/control/trainer.h"
#include "rl/text/experience.h"
#include "rl/text/metrics.h"
#include "tools/pg/run/run_dir.h"

namespace pg::tools {

// Where the problems of responses come from.
inline constexpr std::string_view kTraining = "training", kHeldOut = "held-out";

// What is kept of a step, so that files do not grow with the length of responses.
inline constexpr size_t kResponsesPerStep = 8, kTokensPerStep = 4096, kBytesPerText = 1 << 16, kStatesPerEpisode = 1000;

// Lines of samples.jsonl for the first responses of a step: step, split, group, sample, prompt, response, reward,
// parts, solved, finished, length (tokens of the policy). For each token of the response: tokens (texts), log_prob, and
// from `batch`, if there is one, kl (log_prob minus that of the reference) and advantage. "policy" has a character per
// token, 1 for the policy's and 0 for the environment's; it is left out if all are the policy's. "problem" describes
// the problem (TextTask::described), with its subject and level; "expected" is a right answer, "answer" that of the
// response (null: it gives none), and "verdict" says why the exact grader does not find the two equal. The
// numbers of tokens are kept for kTokensPerStep tokens of a step: "tokens_left_out" counts those of a response that
// have none. The beginning of a text of more than kBytesPerText bytes is kept, and "bytes_left_out" counts the rest of
// the response.
std::vector<std::string> sample_lines(const TextTask& task, const rl::Experience& experience, int64_t step,
                                      std::string_view split, const rl::Batch* batch = nullptr);
void append_samples(const RunDir& run, const TextTask& task, const rl::Experience& experience, int64_t step,
                    std::string_view split, const rl::Batch* batch = nullptr);
// The text of each token of a response. One that is a part of a character is shown as its bytes, "<E2 82>".
std::vector<std::string> token_texts(const TextTask& task, const rl::Response& response);
// A line with a text that continues a prompt and has no reward.
void append_text_sample(const RunDir& run, int64_t step, std::string_view prompt, std::string_view text);

void append_health(const RunDir& run, int64_t step, const std::vector<rl::HealthCheck>& checks);

// step, environment, greedy, return, length, terminated, and states, actions and rewards of the first
// kStatesPerEpisode steps.
std::string episode_line(const rl::EnvEpisode& episode, std::string_view environment, bool greedy, int64_t step);
void append_episode(const RunDir& run, const rl::EnvEpisode& episode, std::string_view environment, bool greedy,
                    int64_t step);

}  // namespace pg::tools

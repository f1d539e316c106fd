#pragma once
// The result of a rollout as ragged lists, for tasks, judges and display. Training uses the Batch made from it.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/decode/generate.h"
#include "rl/methods/algorithm.h"
#include "rl/methods/batch.h"
#include "tasks/text/text_task.h"

namespace pg::rl {

struct Response {
  std::vector<int32_t> prompt, tokens;
  std::vector<uint8_t> action_mask;       // 1 = sampled by the policy (trained on), 0 = by the environment
  bool finished = false;                  // ended by itself, not at the length limit
  Score score;                            // as returned by the task or the judge
  std::vector<double> sampler_log_probs;  // per token, at the sampling temperature; 0 where `action_mask` is 0
  double entropy = 0;  // sum over its tokens of the policy's entropy in nats, with RolloutOptions::entropy
  std::shared_ptr<const Puzzle> puzzle = nullptr;  // of the problem, if it has one: for display
  int64_t answer_length = 0;  // number of the policy's tokens in the problem's own answer; 0 if it has none

  int64_t length() const;  // number of tokens sampled by the policy
};

// The index of the last token that the policy sampled: its end of sequence, if there is one.
size_t last_chosen(const Response& response);

// P prompts with G responses each: those of prompt p have the indices p·G … p·G + G - 1.
struct Experience {
  std::vector<Response> responses;
  int64_t samples = 1;              // G
  std::vector<double> greedy = {};  // [P]: reward of the greedy response, if requested
  GenerateStats work = {};          // of the rows that this rank generated
};

// What a response has of its problem: prompt, puzzle and answer_length.
void set_problem(Response& response, const Problem& problem);
// u8 [P]: rl/advantages.h, of the scores.
Tensor groups_with_signal(const Experience& experience);
// The same as the algorithm's baseline sees it: one that compares the parts of the reward has a signal where a part
// with a weight differs, though the parts may cancel in their sum.
Tensor groups_with_signal(const Experience& experience, const Algorithm& algorithm);
// The names of the reward's parts, and u8 [P] for each: in which groups it differs.
std::vector<std::pair<std::string, Tensor>> parts_with_signal(const Experience& experience);
std::vector<const Response*> pointers(const std::vector<Response>& responses);
TokenRows token_rows(std::span<const Response* const> responses);
// The experience as tensors: ids, masks, the sampler's log-probabilities, the reward's parts, and the reward per token.
// A reward for a whole response is placed by algorithm.place_reward.
Batch make_batch(const Experience& experience, const Algorithm& algorithm = {});
// The elements of row b of x [B, T] that belong to the tokens of response b.
std::vector<double> of_response(const Tensor& x, const Batch& batch, size_t b);

}  // namespace pg::rl

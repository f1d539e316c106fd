#pragma once
// What a rollout leaves behind: responses with a number for each of their tokens, and the tensors made of them.
#include <cstdint>
#include <span>
#include <vector>

#include "nn/layers.h"
#include "tasks/text_task.h"
#include "tensor/tensor.h"

namespace pg::rl {

struct Response {
  std::vector<int32_t> prompt, tokens;
  std::vector<uint8_t> chosen;  // by token: 1 by the policy, 0 by the world. Only the former are learned.
  bool finished = false;        // came to its end itself, instead of running into the limit
  Score score;                  // as the task gave it
  // By token, at the sampling temperature where they are log-probabilities; 0 where not chosen.
  std::vector<double> sampler_log_probs, old_log_probs, ref_log_probs;
  std::vector<double> rewards;  // after shaping and KL
  std::vector<double> values, advantages, returns;

  int64_t length() const;  // tokens chosen by the policy
};

// The place of the last token that the policy chose: its end of sequence, if it came to one.
size_t last_chosen(const Response& response);
// Rewards by token from the score: a reward for the whole comes with that token.
void set_rewards(Response& response);

// P prompts with G responses each: those of prompt p are p·G … p·G + G - 1.
struct Experience {
  std::vector<Response> responses;
  int64_t samples = 1;         // G
  std::vector<double> greedy;  // [P]: reward of the greedy response, if asked for
};

// Sequences side by side, padded on the right; no id stands for padding, the mask alone tells. A target is what follows
// at its place: position t of row b reads ids[b, 0 … t] and predicts targets[b, t].
struct TokenRows {
  Tensor ids, targets;  // i32 [B, T]
  Tensor mask;          // u8 [B, T]: 1 where the target is one that the policy chose
  Tensor places;        // i32 [M]: where the mask is 1, counted row after row ...
  Tensor tokens;        // i32 [M]: ... and the target there
  PackedRows packed;    // ids again, a prompt that several rows have once
};
TokenRows token_rows(std::span<const Response* const> responses);
// One number per token of each response (`member` of Response), where its target stands in token_rows: [B, T], 0
// elsewhere.
Tensor token_values(std::span<const Response* const> responses, std::vector<double> Response::*member, DType dtype);
// The reverse: reads [B, T] into `member`, 0 where a token was not chosen.
void set_token_values(std::span<Response* const> responses, std::vector<double> Response::*member,
                      const Tensor& values);

// The same by place in the response, for advantages: f64 [B, R], R the longest response; and the mask u8.
Tensor response_values(const std::vector<Response>& responses, std::vector<double> Response::*member);
Tensor response_mask(const std::vector<Response>& responses);

}  // namespace pg::rl

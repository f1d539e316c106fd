#pragma once
// The result of a rollout: responses with values per token, and the tensors made from them.
#include <cstdint>
#include <span>
#include <vector>

#include "nn/layers.h"
#include "tasks/text_task.h"
#include "tensor/tensor.h"

namespace pg::rl {

struct Response {
  std::vector<int32_t> prompt, tokens;
  std::vector<uint8_t> chosen;  // action mask: 1 = sampled by the policy (trained on), 0 = by the environment
  bool finished = false;        // ended by itself, not at the length limit
  Score score;                  // as returned by the task
  // Per token, 0 where `chosen` is 0. Log-probabilities are at the sampling temperature.
  std::vector<double> sampler_log_probs, old_log_probs, ref_log_probs;
  std::vector<double> rewards;  // after shaping and KL
  std::vector<double> values, advantages, returns;

  int64_t length() const;  // number of tokens sampled by the policy
};

// The index of the last token that the policy sampled: its end of sequence, if there is one.
size_t last_chosen(const Response& response);
// Sets the rewards per token from the score. A reward for the whole response goes to the token last_chosen().
void set_rewards(Response& response);

// P prompts with G responses each: those of prompt p have the indices p·G … p·G + G - 1.
struct Experience {
  std::vector<Response> responses;
  int64_t samples = 1;         // G
  std::vector<double> greedy;  // [P]: reward of the greedy response, if requested
};

// A batch of sequences, padded on the right. There is no padding id; only the mask distinguishes padding. Position t of
// row b reads ids[b, 0 … t] and predicts targets[b, t].
struct TokenRows {
  Tensor ids, targets;  // i32 [B, T]
  Tensor mask;          // u8 [B, T]: 1 where the policy sampled the target
  Tensor places;        // i32 [M]: flat indices where the mask is 1, row by row
  Tensor tokens;        // i32 [M]: the targets there
  PackedRows packed;    // ids without padding; a shared prompt is stored once
};
TokenRows token_rows(std::span<const Response* const> responses);
// Gathers a per-token field into [B, T], aligned with the targets of token_rows(); 0 outside the responses.
Tensor token_values(std::span<const Response* const> responses, std::vector<double> Response::*member, DType dtype);
// The reverse: reads [B, T] into the field, 0 where the policy did not sample the token.
void set_token_values(std::span<Response* const> responses, std::vector<double> Response::*member,
                      const Tensor& values);

// A per-token field by index in the response, for advantages: f64 [B, R], R the longest response. And its mask, u8.
Tensor response_values(const std::vector<Response>& responses, std::vector<double> Response::*member);
Tensor response_mask(const std::vector<Response>& responses);

}  // namespace pg::rl

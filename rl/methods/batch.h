#pragma once
// A rollout as tensors: the form that the data has from sampling to the loss. B responses, T positions. All tensors
// [B, T] are aligned: position t of row b reads ids[b, 0 … t] and predicts targets[b, t]. Rows are padded on the right.
// There is no padding id; only the masks distinguish padding.
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/layers.h"
#include "tensor/tensor.h"

namespace pg::rl {

// A prompt and a response to it, as token ids. action_mask: 1 for the tokens that the policy sampled, 0 for those of
// the environment.
struct Sequence {
  std::span<const int32_t> prompt, tokens;
  std::span<const uint8_t> action_mask;
};

// The token ids of a batch.
struct TokenRows {
  std::vector<int64_t> prompts, lengths;  // [B]: tokens of the prompt; positions that are no padding
  Tensor ids, targets;                    // i32 [B, T]
  Tensor mask;                            // u8 [B, T]: the action mask, 1 where the policy sampled the target
  Tensor indices;                         // i32 [M]: flat indices where the mask is 1, row by row
  Tensor tokens;                          // i32 [M]: the targets there
  PackedBatch packed;                     // ids without padding; what rows begin with alike is stored once

  std::span<const int32_t> prompt(size_t row) const;  // the ids of the prompt
};
// Throws Error for a sequence without a prompt or a response, or with an action mask of another length.
TokenRows token_rows(std::span<const Sequence> sequences);

// B = P·G responses: rows p·G … p·G + G - 1 answer prompt p. The tensors [B, T] of numbers are f64, on the CPU, and 0
// where the mask is 0, except rewards: an environment's token may carry one until advantages() moves it to the policy's
// token before (carried_rewards). Tensors that the algorithm does not use are undefined. Log-probabilities are at the
// sampling temperature.
struct Batch : TokenRows {
  int64_t samples = 1;                         // G
  std::vector<Tensor> parts;                   // [B, 1] each: the terms of the reward, in the task's order
  std::vector<std::string> part_names;         // their names
  Tensor greedy;                               // [P, 1]: reward of the greedy response
  Tensor signal;                               // u8 [B, 1]: 0 for responses that get no advantage; undefined: all 1
  Tensor sampler_log_prob;                     // [B, T]: by the sampler
  Tensor old_log_prob, ref_log_prob, entropy;  // [B, T]: by the policy before the update, and by the reference
  Tensor reward, value, advantage, returns;    // [B, T]
  Tensor selected;                             // u8 [B, T]: the tokens that the loss treats differently

  int64_t size() const { return static_cast<int64_t>(prompts.size()); }
};
// The rows with these indices, in that order, without the columns that are then only padding. samples is 1, and parts,
// greedy and signal are left out: they belong to whole groups.
Batch rows_of(const Batch& batch, std::span<const size_t> indices);
// The batch with its numbers in this dtype, and them and the masks on this device. The token ids stay on the CPU.
Batch moved_to(const Batch& batch, DType dtype, const Device& device);
// Writes values [indices.size(), at most T] into `to` f64 [B, T], at the rows with these indices.
void put_rows(const Tensor& to, std::span<const size_t> indices, const Tensor& values);

// score [B, 1] at the last position of each row that the policy sampled, 0 elsewhere: [B, T]. The last position is that
// of the end of sequence, if there is one. Throws Error for a row in which the policy sampled nothing.
Tensor reward_at_end(const Tensor& score, const Tensor& mask);
// reward [B, T] in which the reward of an environment's token is added to that of the last token before it that the
// policy sampled, the action that it answers: 0 where the mask is 0. Discounts count the policy's tokens, so a return
// has it undiscounted there. Throws Error for a reward before the first of these tokens, or behind the row's end.
Tensor carried_rewards(const Tensor& reward, const TokenRows& rows);
// Number of tokens that the policy sampled: u8 [B, T] → f64 [B, 1].
Tensor response_lengths(const Tensor& mask);

// The tensors on the CPU, without gradient. Those of one dtype and one device are joined there and copied at once, so
// that the host waits for the device once; their copies share memory. A tensor that is on the CPU shares its own
// memory, an undefined one stays undefined.
std::vector<Tensor> read_back(const std::vector<Tensor>& xs);

}  // namespace pg::rl

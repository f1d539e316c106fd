#pragma once
// Imitation of answers: supervised fine-tuning, and expert iteration, in which the answers are the policy's own.
#include <functional>
#include <span>
#include <vector>

#include "nn/optim.h"
#include "nn/train/trainer.h"
#include "rl/text/metrics.h"
#include "rl/text/rollout.h"
#include "rl/text/speed.h"

namespace pg::rl {

// Prompts with their answers as rows padded on the right. Targets are the answer's tokens, including the end of
// sequence. Targets of the prompt and of the padding are -100 and are ignored. The plain form, which lesson 8 writes
// and tests compare packed_batch() with.
TokenBatch sft_batch(std::span<const Problem> problems);
// Texts without padding, of which the positions are learned that `action_mask` names. See token_rows.
TokenBatch packed_batch(std::span<const Sequence> texts);
// Batches of `size` problems drawn from the task, without padding, for Trainer.
NextBatch sft_batches(const TextTask& task, int64_t size);

// Expert iteration: sample, keep the responses that solved their problem, imitate them, repeat (Anthony et al. 2017,
// arXiv:1705.08439; for language Zelikman et al. 2022, STaR, arXiv:2203.14465).
struct ExpertIterationConfig {
  int64_t problems = 64, samples = 8;  // per iteration
  double temperature = 1;
  int64_t max_rows = 0;     // responses sampled at a time; 0: all
  int64_t epochs = 2;       // passes over the kept responses
  int64_t batch = 64;       // responses per optimizer step
  int64_t micro_batch = 0;  // responses per forward pass, at most; 0: all of a batch
  double lr = 1e-3;
  AdamWOptions adamw = {0.9, 0.99, 1e-8, 0};  // reinitialized in every iteration
  double max_grad_norm = 1;
  bool shuffle_rewards = false;  // a control experiment: permutes over the responses which of them count as right
  uint64_t seed = 1;
  MachineRates rates = {};  // if measured, "time/" metrics compare with them; the update's needs a Profile
};
// All fields but rates.
std::vector<Field> fields(ExpertIterationConfig& config);

// Throws Error naming the first field out of its range.
void check_config(const ExpertIterationConfig& config);

// Iteration number `iteration` of a run. Returns "solved" (share of the samples), "kept" (number of distinct responses
// kept), "sft_loss" (of the last epoch), "length/mean" and those of add_speed_metrics(). If nothing is solved, the
// policy is unchanged. In a task of several turns only the policy's tokens are imitated. The ranks of `comm` (nullptr:
// one) share out the problems, and the micro-batches of a step; on the CPU the bits do not depend on their number.
// `should_stop` is asked while the rank samples, as RolloutOptions says, and `should_stop_anywhere` after it, on all
// ranks: if that answers true, the policy is unchanged and there are no metrics.
Metrics expert_iteration(Transformer& policy, const TextTask& task, const ExpertIterationConfig& config,
                         int64_t iteration, Comm* comm = nullptr, const std::function<bool()>& should_stop = {},
                         const std::function<bool()>& should_stop_anywhere = {});

}  // namespace pg::rl

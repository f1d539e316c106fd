#pragma once
// Expert iteration: sample, keep what solved its problem, imitate it, again (Anthony et al. 2017, arXiv:1705.08439; for
// language Zelikman et al. 2022, STaR, arXiv:2203.14465).
#include "nn/optim.h"
#include "rl/text/metrics.h"
#include "rl/text/rollout.h"

namespace pg::rl {

struct ExpertIterationConfig {
  int64_t problems = 64, samples = 8;  // per iteration
  double temperature = 1;
  int64_t epochs = 2;  // over what was kept
  int64_t batch = 64;  // responses per optimizer step
  double lr = 1e-3;
  AdamWOptions adamw = {0.9, 0.99, 1e-8, 0};  // begun anew in every iteration
  double max_grad_norm = 1;
  uint64_t seed = 1;
};

// Error naming the first field out of its range.
void check_config(const ExpertIterationConfig& config);

// One iteration, number `iteration` of its run: → "solved" (share of the samples), "kept" (different responses that
// were kept), "sft_loss" (of the last epoch). With nothing solved the policy stays as it is.
Metrics expert_iteration(Gpt2& policy, const TextTask& task, const ExpertIterationConfig& config, int64_t iteration);

}  // namespace pg::rl

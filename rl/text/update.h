#pragma once
// The loss of some responses under an algorithm, combining its axes.
#include "rl/algorithm.h"
#include "rl/text/metrics.h"
#include "rl/text/references.h"

namespace pg::rl {

struct Update {
  const Algorithm& algorithm;
  const Transformer& policy;
  // For a critic: a separate model, or a second head on the policy.
  const ScalarModel* critic = nullptr;
  const Linear* value_head = nullptr;
  const Reference* reference = nullptr;  // for a KL estimator that needs its logits
  double temperature = 1;
  double beta = 0;     // weight of that KL
  Denominators total;  // of the mini-batch that contains these responses
};

// Sums over an update, accumulated per micro-batch.
struct LossSums {
  double loss = 0, policy_loss = 0, kl_loss = 0, value_loss = 0;
  PolicyStats stats;
  double values = 0, clipped_values = 0;  // tokens valued by a critic, and those of them whose value is clipped
  double max_log_prob_difference = 0;     // between sampler and trainer
};

// The loss to be minimised, including the critic's. The losses of the parts of a mini-batch add up to its loss.
// `part` must have old_log_prob, sampler_log_prob and advantage; for a KL in the loss also ref_log_prob; for a critic
// also value and returns.
Tensor micro_batch_loss(const Update& update, const Batch& part, LossSums& sums);

}  // namespace pg::rl

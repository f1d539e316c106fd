#pragma once
// The loss of some responses under an algorithm: where its axes meet.
#include "rl/algorithm.h"
#include "rl/text/metrics.h"
#include "rl/text/models.h"

namespace pg::rl {

struct Update {
  const Algorithm& algorithm;
  const Gpt2& policy;
  // For Baseline::critic: a model of its own, or one more head on the policy.
  const ScalarModel* critic = nullptr;
  const Linear* value_head = nullptr;
  const Reference* reference = nullptr;  // for KlEstimator::full in the loss
  double temperature = 1;
  double beta = 0;     // of that KL
  Denominators total;  // of the mini-batch that these responses are part of
};

// What the sums of an update add up to, micro-batch after micro-batch.
struct LossSums {
  double loss = 0, policy_loss = 0, kl_loss = 0, value_loss = 0;
  PolicyStats stats;
  double values = 0, clipped_values = 0;  // tokens that a critic valued; those whose value the clip holds
  double max_log_prob_difference = 0;     // between sampler and trainer
};

// The loss to be minimised, the critic's in it; parts of one mini-batch add up to its loss. Responses have their
// old_log_probs, sampler_log_probs and advantages, for a KL in the loss ref_log_probs too, for a critic values and
// returns.
Tensor micro_batch_loss(const Update& update, std::span<const Response* const> responses, LossSums& sums);

}  // namespace pg::rl

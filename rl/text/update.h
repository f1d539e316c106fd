#pragma once
// The loss of some responses under an algorithm, combining its axes; and the mini-batches and micro-batches of an
// update.
#include <vector>

#include "rl/methods/algorithm.h"
#include "rl/methods/batch.h"
#include "rl/policy_loss.h"
#include "rl/text/metrics.h"
#include "rl/text/references.h"
#include "tensor/comm/comm.h"

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

// Sums over a micro-batch, or over several: added up in their order, they have the same bits for any number of ranks.
struct LossSums {
  double loss = 0, policy_loss = 0, kl_loss = 0, value_loss = 0;
  PolicyStats stats;
  double values = 0, clipped_values = 0;  // tokens valued by a critic, and those of them whose value is clipped
  double positions = 0;                   // that went forward and backward
  double max_log_prob_difference = 0;     // between sampler and trainer

  // Calls f(number, how it is merged) for all numbers.
  template <class F>
  void each(F f) {
    for (double* x : {&loss, &policy_loss, &kl_loss, &value_loss, &values, &clipped_values, &positions})
      f(*x, Merge::sum);
    f(max_log_prob_difference, Merge::most);
    stats.each(f);
  }
  void add(LossSums part);
};
// What a micro-batch leaves on the policy's device for its LossSums. Reading it makes the host wait for the device.
struct LossTerms {
  Batch batch;                 // on the CPU, as it was given
  Tensor loss, policy_loss;    // scalars; loss is without the critic's
  Tensor kl_loss, value_loss;  // scalars; undefined if the algorithm has none
  Tensor log_prob, entropy;    // [B, T]
  Tensor values;               // [B, T], by the critic; undefined without one
};
// The sums of each of these micro-batches, which are read with one wait for the device.
std::vector<LossSums> read_sums(const Algorithm& algorithm, const std::vector<LossTerms>& terms);
// The sums of all micro-batches, on all ranks. Those of number i are known to rank i mod size.
std::vector<LossSums> gathered(Comm& comm, std::vector<LossSums> parts);

// The loss to be minimised, including the critic's. The losses of the parts of a mini-batch add up to its loss.
// `part` must have old_log_prob, sampler_log_prob and advantage; for a KL in the loss also ref_log_prob; for a critic
// also value and returns. Writes `terms` and reads nothing from the policy's device.
Tensor micro_batch_loss(const Update& update, const Batch& part, LossTerms& terms);

// 0 … B - 1.
std::vector<size_t> all_rows(const Batch& batch);
// Splits rows of the batch into micro-batches of `size` (0: one). Responses to one prompt are sorted together, so that
// it is computed once for them.
std::vector<std::vector<size_t>> micro_batches(const Batch& batch, std::vector<size_t> rows, int64_t size);
// The rows that have an advantage; the first row if none has. batch.advantage is f64.
std::vector<size_t> rows_with_advantage(const Batch& batch, const std::vector<size_t>& rows);
// The divisors of the losses of these rows; a response has at most max_length tokens.
Denominators denominators_of(const Batch& batch, const std::vector<size_t>& rows, int64_t max_length);

}  // namespace pg::rl

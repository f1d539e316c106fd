#pragma once
// An algorithm is a choice on each of five axes: advantage, ratio with its surrogate, aggregation, KL, reference. The
// published algorithms are rows of one table.
#include <string>
#include <string_view>
#include <vector>

#include "rl/kl_control.h"
#include "rl/policy_loss.h"

namespace pg::rl {

// Credit: the rewards an action is credited with, and what they are compared with.
enum class Credit : uint8_t {
  response,  // the sum of the response's rewards, equal for each of its tokens
  to_go,     // the rewards from the token on; compared with the other responses at the same position
  token,     // the token's own reward; compared with the other responses at the same position
};
enum class Baseline : uint8_t {
  none,
  moving,         // mean of earlier batches
  batch_mean,     // mean of this batch
  group_mean,     // mean of the responses to the same prompt
  leave_one_out,  // mean of the other responses to the same prompt
  group_std,      // group_mean, divided by the group's standard deviation
  batch_std,      // group_mean, divided by the batch's standard deviation
  opo,            // mean weighted by response length
  remax,          // reward of the greedy response
  maxrl,          // group_mean, divided by the group's mean
  gpg,            // group_mean, scaled up to compensate for groups without a learning signal
  critic,         // GAE over a value model
};
enum class Ratio : uint8_t { none, token, sequence, sequence_token };
enum class Surrogate : uint8_t { log_prob, ratio, clip, dual_clip, cispo };
enum class KlPlace : uint8_t { none, reward, loss };
enum class KlEstimator : uint8_t { k1, k2, k3, weighted_k3, full };
enum class ReferenceKind : uint8_t {
  none,
  frozen,  // the initial policy
  moving,  // a copy of the policy, updated every reference_interval steps
  random,  // a randomly initialized model
  bigram,  // bigram counts of a text
  given,   // a model given by the user, for example of an earlier run
};

struct Algorithm {
  std::string name;
  std::string source;  // the paper

  Credit credit = Credit::response;
  Baseline baseline = Baseline::none;
  double baseline_decay = 0.9;      // for Baseline::moving
  double gamma = 1, lambda = 0.95;  // gamma: to_go and critic
  int ddof = 1;                     // of standard deviations: in the advantage and in whiten
  double eps = 1e-6;                // added to standard deviations
  bool whiten = false;              // whitens the advantages of all tokens of the batch, as the last step

  Ratio ratio = Ratio::none;
  Surrogate surrogate = Surrogate::log_prob;
  double clip_low = 0.2, clip_high = 0.2;
  double dual_clip = 3;
  double weight_cap = 2;  // cap on the truncated importance weights between sampler and trainer; 0: no weights

  Aggregation aggregation = Aggregation::sequence_sum;

  KlPlace kl = KlPlace::none;
  KlEstimator kl_estimator = KlEstimator::k1;
  KlControlOptions kl_control;

  ReferenceKind reference = ReferenceKind::none;
  int64_t reference_interval = 0;  // for ReferenceKind::moving

  double entropy_bonus = 0;                   // c_H: adds -c_H times the entropy, aggregated like the loss
  double value_coef = 0.1, value_clip = 0.2;  // for Baseline::critic
  bool dynamic_sampling = false;              // replaces prompts whose responses all have equal rewards before shaping
  double overlong_cache = 0;                  // length penalty over this share of the maximum response length; 0: none
  int64_t epochs = 1;                         // passes over a rollout
};

// The table: reinforce, reinforce_baseline, rloo, remax, gpg, opo, maxrl, reinforce_pp, reinforce_pp_baseline, ppo,
// grpo, dr_grpo, lite_ppo, dapo, gspo, gspo_token, cispo.
const std::vector<Algorithm>& algorithms();
// Throws Error with these names if there is none called `name`.
const Algorithm& algorithm(std::string_view name);

// Sizes of an update.
struct BatchShape {
  int64_t prompts = 32;      // prompts per step
  int64_t samples = 8;       // responses per prompt
  int64_t mini_batches = 1;  // optimizer steps per epoch
  int64_t micro_batch = 64;  // responses per forward pass; 0: all of a mini-batch
};

// Throws Error naming the first field out of its range (AlgorithmField::check) or the first choices that contradict
// each other.
void check_algorithm(const Algorithm& a);
// check_algorithm(a), and Error for batch sizes that are out of range or that the algorithm cannot use: a group
// baseline requires at least two samples.
void check_algorithm(const Algorithm& a, const BatchShape& batch);

// The formula with every convention, and the arithmetic of the batch, as text for users. Throws Error like
// check_algorithm.
std::string explain(const Algorithm& a, const BatchShape& batch);

// word() is an enumerator's name, from_word() the enumerator of that name. For an unknown name, from_word() throws
// Error with the names of words().
template <class E>
std::string_view word(E value);
template <class E>
E from_word(std::string_view word);
template <class E>
const std::vector<std::string>& words();

}  // namespace pg::rl

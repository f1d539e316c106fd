#pragma once
// An algorithm is a choice on each of five axes: advantage, ratio with its surrogate, aggregation, KL, reference.
// The published ones are rows of one table.
#include <string>
#include <string_view>
#include <vector>

#include "rl/kl_control.h"
#include "rl/policy_loss.h"

namespace pg::rl {

// What an action is credited with, and compared by.
enum class Credit : uint8_t {
  response,  // the sum of the response's rewards, for each of its tokens alike
  to_go,     // the rewards from the token on; compared with the other responses at the same place
  token,     // the token's own reward; compared likewise
};
enum class Baseline : uint8_t {
  none,
  moving,         // mean of earlier batches
  batch_mean,     // mean of this batch
  group_mean,     // mean of the responses to the same prompt
  leave_one_out,  // mean of the others among them
  group_std,      // group_mean, divided by the group's deviation
  batch_std,      // group_mean, divided by the batch's deviation
  opo,            // mean weighted by length
  remax,          // the greedy response
  maxrl,          // group_mean, divided by the group's mean
  gpg,            // group_mean, scaled up for groups that teach nothing
  critic,         // GAE over a value model
};
enum class Ratio : uint8_t { none, token, sequence, sequence_token };
enum class Surrogate : uint8_t { log_prob, ratio, clip, dual_clip, cispo };
enum class KlPlace : uint8_t { none, reward, loss };
enum class KlEstimator : uint8_t { k1, k2, k3, weighted_k3, full };
enum class ReferenceKind : uint8_t {
  none,
  frozen,  // the policy as it was at the start
  moving,  // the policy as it was at the last of every reference_interval steps
  random,  // a model that has learned nothing
  bigram,  // counts of neighbours in a text
  given,   // a model of one's own, such as an earlier run's
};

struct Algorithm {
  std::string name;
  std::string source;  // the paper

  Credit credit = Credit::response;
  Baseline baseline = Baseline::none;
  double baseline_decay = 0.9;      // moving
  double gamma = 1, lambda = 0.95;  // gamma: to_go and critic
  int ddof = 1;                     // of standard deviations, here and in whiten
  double eps = 1e-6;                // beside them
  bool whiten = false;              // the advantages of all tokens of the batch, at last

  Ratio ratio = Ratio::none;
  Surrogate surrogate = Surrogate::log_prob;
  double clip_low = 0.2, clip_high = 0.2;
  double dual_clip = 3;
  double weight_cap = 2;  // of truncated importance weights between sampler and trainer; 0: none

  Aggregation aggregation = Aggregation::sequence_sum;

  KlPlace kl = KlPlace::none;
  KlEstimator kl_estimator = KlEstimator::k1;
  KlControlOptions kl_control;

  ReferenceKind reference = ReferenceKind::none;
  int64_t reference_interval = 0;  // moving

  double entropy_bonus = 0;                   // c_H: -c_H times the entropy, aggregated like the loss
  double value_coef = 0.1, value_clip = 0.2;  // critic
  bool dynamic_sampling = false;              // prompts whose responses all earn the same, before shaping, are replaced
  double overlong_cache = 0;                  // share of the longest response within which length is punished; 0: none
  int64_t epochs = 1;                         // passes over a rollout
};

// The table: reinforce, reinforce_baseline, rloo, remax, gpg, opo, maxrl, reinforce_pp, reinforce_pp_baseline, ppo,
// grpo, dr_grpo, lite_ppo, dapo, gspo, gspo_token, cispo.
const std::vector<Algorithm>& algorithms();
// Error listing them for another name.
const Algorithm& algorithm(std::string_view name);

// How many of everything an update is made of.
struct BatchShape {
  int64_t prompts = 32;      // per step
  int64_t samples = 8;       // responses to each
  int64_t mini_batches = 1;  // optimizer steps per epoch
  int64_t micro_batch = 64;  // responses per forward pass; 0: all of a mini-batch
};

// Error naming the first field out of its range (AlgorithmField::check) or the first choices that contradict each
// other.
void check_algorithm(const Algorithm& a);
// The same, and for numbers of the batch out of range, or with which the algorithm cannot work: a baseline over a group
// needs at least two samples.
void check_algorithm(const Algorithm& a, const BatchShape& batch);

// The formula with every convention, and the arithmetic of the batch, for people. Error as check_algorithm.
std::string explain(const Algorithm& a, const BatchShape& batch);

// The word for an enumerator, which is its name, and back; Error listing them for another word.
template <class E>
std::string_view word(E value);
template <class E>
E from_word(std::string_view word);
template <class E>
const std::vector<std::string>& words();

}  // namespace pg::rl

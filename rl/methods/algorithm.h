#pragma once
// An algorithm is a row of a table, and points into the tables of its axes: what an action is credited with, what that
// is compared with, the ratio, the loss of a token, how tokens are averaged, the KL, the reference. The row of an axis
// is a name, a formula and a function. Everything else follows from the rows: options, help, checks and explain().
// To add a method, write its function and its row (rl/methods/axes.cpp), and name it in a row of algorithms().
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rl/advantages.h"
#include "rl/methods/batch.h"
#include "rl/methods/kl_control.h"
#include "rl/policy_loss.h"
#include "tensor/base/fields.h"

namespace pg {
struct Transformer;
}

namespace pg::rl {

struct Algorithm;
class Reference;
struct ReferenceRequest;

// In all formulas, {name} stands for the value of the algorithm's field of that name.

// What an action is credited with.
struct Credit {
  static constexpr const char* axis = "credit";
  static const std::vector<Credit>& table();
  const char *name, *formula;
  // reward [B, T] f64, mask → [B, 1] for one value per response, or [B, T].
  std::function<Tensor(const Tensor& reward, const Tensor& mask, double gamma)> compute;
  bool whole_response = false;  // whether it gives [B, 1]
};

// Groups to be compared: each row of credit [N, G] is compared with itself.
struct Groups {
  Tensor credit, mask;  // f64 and u8 [N, G]; the mask may be undefined
  Tensor lengths;       // [N, G] tokens, for credits of whole responses
  Tensor greedy;        // [N, 1] rewards of the greedy responses, if they were sampled
};

// What the credit is compared with.
struct Baseline {
  static constexpr const char* axis = "baseline";
  static const std::vector<Baseline>& table();
  const char *name, *formula, *source;
  // The batch with its reward (and value, for a critic) → advantage [B, T], or [B, 1] for one value per response. May
  // set returns. `moving` is the state of a baseline of earlier batches.
  std::function<Tensor(Batch& batch, const Algorithm& algorithm, MovingBaseline& moving)> advantage;
  struct Needs {
    bool group = false;     // at least two responses to a prompt
    bool batch = false;     // at least two responses in a step
    bool response = false;  // a credit of whole responses
    bool greedy = false;    // a greedy response to each prompt
    bool critic = false;    // a value model
    bool parts = false;     // the parts of the reward: what changes only their sum is not allowed
  } needs = {};
  bool sparse = false;  // most responses of a group may have an advantage of 0, such as all but the best
};
// The function of a baseline that compares groups, from its estimator, [N, G] → [N, G]. A credit per token is compared
// with the credits at the same position of the other responses. With over_batch the batch is one group.
using Estimator = std::function<Tensor(const Groups& groups, const Algorithm& algorithm)>;
std::function<Tensor(Batch&, const Algorithm&, MovingBaseline&)> compared(Estimator estimator, bool over_batch = false);

// The probability ratio between the policy and the policy before the update.
struct Ratio {
  static constexpr const char* axis = "ratio";
  static const std::vector<Ratio>& table();
  const char *name, *formula;
  // log_prob, old_log_prob, mask [B, T] → [B, T] or [B, 1]. Empty: there is no ratio.
  std::function<Tensor(const Tensor& log_prob, const Tensor& old_log_prob, const Tensor& mask)> compute;
  bool per_sequence = false;  // one ratio for all tokens of a response
};

// What the loss of a token is computed from, each [B, T].
struct TokenInputs {
  Tensor log_prob, old_log_prob;
  Tensor ratio;  // undefined without a ratio
  Tensor advantage, mask;
};

// The loss of a token.
struct Surrogate {
  static constexpr const char* axis = "surrogate";
  static const std::vector<Surrogate>& table();
  const char *name, *formula, *source;
  std::function<Tensor(const TokenInputs& in, const Algorithm& algorithm)> loss;  // → [B, T]
  bool needs_ratio = true;
  bool of_tokens = false;  // only for the ratio per token
  // Whether the clip removes the gradient of a token with this log(ratio) and this advantage: -1 if the ratio is too
  // low for it, 1 if it is too high, 0 if the token keeps its gradient. Empty: the loss has no clip that does so.
  std::function<int(double log_ratio, double advantage, const Algorithm& algorithm)> stopped = {};
};

// Weights of tokens for the difference between the policy before the update and the sampler (another kernel, another
// precision, older weights). On the CPU the two agree to the bit, and every weight is exactly 1.
struct Weight {
  static constexpr const char* axis = "weight";
  static const std::vector<Weight>& table();
  const char *name, *formula, *source;
  // old_log_prob, sampler_log_prob, mask [B, T] → [B, T] or [B, 1], constants. Empty: no weights.
  std::function<Tensor(const Tensor& old_log_prob, const Tensor& sampler_log_prob, const Tensor& mask,
                       const Algorithm& algorithm)>
      compute;
};

// Which tokens the loss treats differently from the others.
struct TokenSelection {
  static constexpr const char* axis = "tokens";
  static const std::vector<TokenSelection>& table();
  const char *name, *formula, *source;
  // The batch with its advantages → u8 [B, T], 1 for the selected tokens. Called once per rollout. Empty: all tokens
  // are treated alike.
  std::function<Tensor(const Batch& batch, const Algorithm& algorithm, Generator& generator)> select;
  // The loss of the tokens, given those selected → [B, T].
  std::function<Tensor(const Tensor& loss, const Tensor& selected, const TokenInputs& in, const Algorithm& algorithm)>
      apply;
  bool needs_entropy = false;
};

// From the losses of tokens to the loss: this choice determines how much the tokens of long responses weigh.
struct Aggregation {
  static constexpr const char* axis = "aggregation";
  static const std::vector<Aggregation>& table();
  const char *name, *formula;
  std::function<Tensor(const Tensor& loss, const Tensor& mask, const Denominators& total)> aggregate;
};

// What the KL of a token is estimated from, each [B, T].
struct KlInputs {
  Tensor log_prob, ref_log_prob, old_log_prob;
  Tensor full_kl;  // over the vocabulary, for an estimator that needs the logits
  Tensor mask;
};

// Where the KL to the reference acts.
struct KlPlace {
  static constexpr const char* axis = "kl";
  static const std::vector<KlPlace>& table();
  const char *name, *formula;
  bool in_reward = false, in_loss = false;
  // reward [B, T] → the reward minus beta times the KL of each token [B, T], a constant.
  std::function<Tensor(const Tensor& reward, const KlInputs& in, double beta)> subtract = {};
};

struct KlEstimator {
  static constexpr const char* axis = "kl-estimator";
  static const std::vector<KlEstimator>& table();
  const char *name, *formula;
  std::function<Tensor(const KlInputs& in)> estimate;  // → [B, T]
  bool needs_logits = false;
  bool in_reward = false;  // whether it may be subtracted from the reward
};

// The model that the KL keeps the policy close to. Its functions are in rl/text/references.cpp.
struct ReferenceKind {
  static constexpr const char* axis = "reference";
  static const std::vector<ReferenceKind>& table();
  const char *name, *formula;
  std::function<std::unique_ptr<Reference>(const ReferenceRequest&)> make;  // empty: no reference
  // Called after each step, which counts from 1. Empty: the reference stays as it is.
  std::function<void(Reference&, Transformer& policy, int64_t step, const Algorithm& algorithm)> follow = {};
  bool is_policy = false;  // it begins as the policy: the first KL is 0
  bool is_given = false;   // the user gives the model
};

struct Algorithm {
  std::string name;
  std::string source;  // the paper

  Choice<Credit> credit = "response";
  Choice<Baseline> baseline = "none";
  double baseline_decay = 0.9;      // for the moving baseline
  double gamma = 1, lambda = 0.95;  // gamma: to_go and critic
  int ddof = 1;                     // of standard deviations: in the advantage and in whiten
  double eps = 1e-6;                // added to standard deviations
  int64_t best_of = 4;              // pkpo: number of responses of which the best counts
  bool whiten = false;              // whitens the advantages of all tokens of the batch, as the last step

  std::string reward_weights = {};  // "exact=1,format=0.5": weights of the reward's parts; empty: 1 each

  Choice<Ratio> ratio = "none";
  Choice<Surrogate> surrogate = "log_prob";
  double clip_low = 0.2, clip_high = 0.2;
  double dual_clip = 3;
  double delta = 4;                              // two_sided_clip: largest ratio where the advantage is negative
  double tau_positive = 1, tau_negative = 1.05;  // sapo: temperatures for advantages above 0, and for the others
  Choice<Weight> weight = "truncate";
  double weight_cap = 2, weight_floor = 0.5;  // of the weights between sampler and trainer

  Choice<TokenSelection> tokens = "all";
  double token_share = 0.2;                        // share of the tokens that are selected
  double covariance_low = 1, covariance_high = 5;  // clip_cov: range of the covariances
  double covariance_coef = 1;                      // kl_cov: weight of the penalty

  Choice<Aggregation> aggregation = "sequence_sum";

  Choice<KlPlace> kl = "none";
  Choice<KlEstimator> kl_estimator = "k1";
  KlControlOptions kl_control = {};

  Choice<ReferenceKind> reference = "none";
  int64_t reference_interval = 0;  // for a moving reference
  double reference_decay = 0.99;   // for an ema reference

  double entropy_bonus = 0;                   // c_H: adds -c_H times the entropy, aggregated like the loss
  double value_coef = 0.1, value_clip = 0.2;  // for a critic
  // Replaces prompts whose responses all have equal rewards before shaping. What is left of them after kSamplingRounds
  // has no advantage.
  bool dynamic_sampling = false;
  // Length penalty over this share of the maximum response length; 0: none. Not for a response that is right or no
  // longer than the answer of its problem.
  double overlong_cache = 0;
  int64_t epochs = 1;  // passes over a rollout

  // score [B, 1] and mask u8 [B, T] → reward [B, T]: where the reward of a whole response goes.
  std::function<Tensor(const Tensor& score, const Tensor& mask)> place_reward = reward_at_end;
};

// The most rounds of dynamic sampling in a step.
constexpr int64_t kSamplingRounds = 8;

// The published algorithms (rl/methods/algorithms.cpp).
const std::vector<Algorithm>& algorithms();
// Throws Error with the names of the table if there is none called `name`.
const Algorithm& algorithm(std::string_view name);
// The fields of an algorithm, for options, files and checks. `a` must outlive the list.
std::vector<Field> fields(Algorithm& a);

// The weights that Algorithm::reward_weights gives to reward parts with these names, 0 for one that it does not name; 1
// each if it is empty. Throws Error for a text of another form, and for an unknown part, with the known ones.
std::vector<double> part_weights(const Algorithm& algorithm, const std::vector<std::string>& parts);

// The advantage of every token, [B, T] f64: credit, baseline and whitening. 0 for responses without batch.signal, which
// do not count in the whitening. Sets batch.returns for a critic, and first batch.reward to its carried_rewards().
// Throws Error for a response in which the policy sampled no token.
Tensor advantages(const Algorithm& algorithm, Batch& batch, MovingBaseline& moving);
// reward [B, T] - beta·(log π - log ref) where the mask is 1, without gradient. With return-to-go its gradient is that
// of β·KL(π ‖ ref) of whole responses (Ziegler et al. 2019, arXiv:1909.08593).
Tensor subtract_kl(const Tensor& reward, const KlInputs& in, double beta);
// The loss of every token, [B, T]: ratio, surrogate, selection of tokens and weights. log_prob is the policy's,
// differentiable; the batch has old_log_prob, sampler_log_prob, advantage, mask and, for a selection, selected, in the
// dtype and on the device of log_prob.
Tensor token_losses(const Algorithm& algorithm, const Tensor& log_prob, const Batch& batch);

// Sizes of an update.
struct BatchShape {
  int64_t prompts = 32;      // prompts per step
  int64_t samples = 8;       // responses per prompt
  int64_t mini_batches = 1;  // optimizer steps per epoch
  int64_t micro_batch = 64;  // responses per forward pass; 0: all of a mini-batch
};
std::vector<Field> fields(BatchShape& b);

// Throws Error naming the first field out of its range or the first choices that contradict each other.
void check_algorithm(const Algorithm& a);
// check_algorithm(a), and Error for batch sizes that are out of range or that the algorithm cannot use: a group
// baseline requires at least two samples.
void check_algorithm(const Algorithm& a, const BatchShape& batch);

// A field of an algorithm that its chosen rows do not use, and why, for users: "it is an option of …; … has …".
struct UnusedField {
  std::string name, why;
};
// The fields that change nothing with the algorithm's choices: no formula of a chosen row names them, or they are of a
// KL that there is not.
std::vector<UnusedField> unused_fields(const Algorithm& a);

// The formula of a row, in which each {name} is replaced by the value of that field. Throws Error for another name.
std::string formula_text(std::string_view formula, const Algorithm& algorithm);
// The formulas of the chosen rows, with the values of their fields, and the arithmetic of the batch, as text for users.
// The first line has the source, and what differs from the row of algorithms() with that name or source.
// Throws Error like check_algorithm.
std::string explain(const Algorithm& a, const BatchShape& batch);

}  // namespace pg::rl

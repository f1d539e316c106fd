#pragma once
// Learning from preference pairs of responses: reward models and DPO.
#include <cstdint>
#include <vector>

#include "nn/optim.h"
#include "rl/preference_loss.h"
#include "rl/text/metrics.h"
#include "rl/text/models.h"
#include "rl/text/trainer.h"

namespace pg::rl {

struct Preference {
  std::vector<int32_t> prompt, chosen, rejected;  // responses include their end of sequence
};
// Pairs of neighbouring responses to one prompt, labelled by Score::reward in place of people: the better one is
// preferred with probability σ(difference / noise), and always if noise is 0. Pairs of equal reward are dropped.
std::vector<Preference> label_pairs(const Experience& experience, double noise, Generator& generator);

// The scores of whole sequences (prompt and response): the model's output at the last token. → [N]
Tensor sequence_scores(const ScalarModel& model, std::span<const Response* const> responses);
// log π(response), summed over its tokens, including the end of sequence. → [N]
Tensor sequence_log_probs(const Transformer& policy, std::span<const Response* const> responses);

struct PreferenceConfig {
  int64_t batch = 32;  // pairs per step
  Schedule schedule = {.kind = Schedule::Kind::constant, .lr = 1e-3};
  AdamWOptions adamw = {0.9, 0.99, 1e-8, 0};
  double max_grad_norm = 1;
  double centring = 0.01;  // for the reward model
  DpoOptions dpo = {};
  uint64_t seed = 1;
};
// The fields that a RewardModelTrainer uses, and those that a DpoTrainer uses.
std::vector<Field> reward_model_fields(PreferenceConfig& config);
std::vector<Field> dpo_fields(PreferenceConfig& config);

// Throws Error naming the first field out of its range.
void check_config(const PreferenceConfig& config);

// Batches of pair indices in random order, every pair once per pass.
class PreferenceOrder {
 public:
  PreferenceOrder(size_t pairs, Generator generator);
  std::vector<size_t> next(int64_t count);

 private:
  Generator generator_;
  std::vector<size_t> order_;
  size_t at_ = 0;
};

// Trains a scalar model with the Bradley-Terry loss.
class RewardModelTrainer {
 public:
  RewardModelTrainer(ScalarModel& model, std::vector<Preference> pairs, const PreferenceConfig& config);
  Metrics step();                                               // "loss", "accuracy", "grad_norm", "score/mean"
  double accuracy(const std::vector<Preference>& pairs) const;  // share of pairs whose chosen response scores higher

 private:
  ScalarModel& model_;
  const std::vector<Preference> pairs_;
  const PreferenceConfig config_;
  ParamSlab slab_;
  AdamW optimizer_;
  PreferenceOrder order_;
};

// Reward of a reward model: (score - mean) / std, with mean and std over given responses, so that the policy that wrote
// them gets 0 on average (Stiennon et al. 2020, arXiv:2009.01325).
class RewardModelJudge {
 public:
  // Throws Error if a weight of the model is not finite, or if all responses get equal scores.
  RewardModelJudge(const ScalarModel& model, const std::vector<Response>& normalise_over);
  RewardModelJudge(const ScalarModel& model, double mean, double std);
  double mean() const { return mean_; }
  double std() const { return std_; }
  void operator()(std::vector<Response>& responses) const;  // a Judge

 private:
  std::vector<double> scores(const std::vector<Response>& responses) const;
  const ScalarModel& model_;
  double mean_ = 0, std_ = 1;
};

// Direct preference optimization: trains the policy against a frozen copy of itself.
class DpoTrainer {
 public:
  DpoTrainer(Transformer& policy, std::vector<Preference> pairs, const PreferenceConfig& config);
  // Returns "loss", "accuracy" (of the implicit rewards), "reward/chosen", "reward/rejected", "log_prob/chosen",
  // "log_prob/rejected", "grad_norm". Both log-probabilities may fall while the margin grows, so they are reported
  // separately.
  Metrics step();
  double accuracy(const std::vector<Preference>& pairs) const;  // share of pairs whose chosen response has the higher
                                                                // implicit reward

 private:
  Transformer& policy_;
  ModelReference reference_;
  const std::vector<Preference> pairs_;
  const PreferenceConfig config_;
  ParamSlab slab_;
  AdamW optimizer_;
  PreferenceOrder order_;
};

}  // namespace pg::rl

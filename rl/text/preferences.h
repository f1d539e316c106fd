#pragma once
// Learning from pairs of responses of which one was preferred: reward models and DPO.
#include <cstdint>
#include <vector>

#include "nn/optim.h"
#include "nn/schedule.h"
#include "rl/preference_loss.h"
#include "rl/text/metrics.h"
#include "rl/text/models.h"
#include "rl/text/trainer.h"

namespace pg::rl {

struct Preference {
  std::vector<int32_t> prompt, chosen, rejected;  // responses with their end of sequence
};
// Pairs of neighbouring responses to one prompt, labelled as people would by Score::reward: the better one is preferred
// with probability σ(difference / noise), always when noise is 0. Pairs of equal reward are left out.
std::vector<Preference> label_pairs(const Experience& experience, double noise, Generator& generator);

// The score of whole sequences, prompt and response: the model's number at the last token. → [N]
Tensor sequence_scores(const ScalarModel& model, std::span<const Response* const> responses);
// log π(response), summed over its tokens, end of sequence included. → [N]
Tensor sequence_log_probs(const Gpt2& policy, std::span<const Response* const> responses);

struct PreferenceConfig {
  int64_t batch = 32;  // pairs per step
  Schedule schedule = {.kind = Schedule::Kind::constant, .lr = 1e-3};
  AdamWOptions adamw = {0.9, 0.99, 1e-8, 0};
  double max_grad_norm = 1;
  double centring = 0.01;  // reward model
  DpoOptions dpo = {};
  uint64_t seed = 1;
};

// Error naming the first field out of its range.
void check_config(const PreferenceConfig& config);

// Batches in random order, every pair once per pass.
class PreferenceOrder {
 public:
  PreferenceOrder(size_t pairs, Generator generator);
  std::vector<size_t> next(int64_t count);

 private:
  Generator generator_;
  std::vector<size_t> order_;
  size_t at_ = 0;
};

// Bradley-Terry on a scalar model.
class RewardModelTrainer {
 public:
  RewardModelTrainer(ScalarModel& model, std::vector<Preference> pairs, const PreferenceConfig& config);
  Metrics step();                                               // "loss", "accuracy", "grad_norm", "score/mean"
  double accuracy(const std::vector<Preference>& pairs) const;  // share where the chosen one scores higher

 private:
  ScalarModel& model_;
  const std::vector<Preference> pairs_;
  const PreferenceConfig config_;
  ParamSlab slab_;
  AdamW optimizer_;
  PreferenceOrder order_;
};

// What a reward model pays: (score - mean) / std, with mean and std those over some responses, so that the policy that
// made them earns 0 on average (Stiennon et al. 2020, arXiv:2009.01325).
class RewardModelJudge {
 public:
  // Error for a model with a weight that is not finite, and for responses that it scores alike.
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

// Direct preference optimization: the policy against a frozen copy of itself.
class DpoTrainer {
 public:
  DpoTrainer(Gpt2& policy, std::vector<Preference> pairs, const PreferenceConfig& config);
  // "loss", "accuracy" (of the implicit rewards), "reward/chosen", "reward/rejected", "log_prob/chosen",
  // "log_prob/rejected", "grad_norm". Both log-probabilities may fall while the margin grows: see them apart.
  Metrics step();
  double accuracy(
      const std::vector<Preference>& pairs) const;  // share where the chosen one's implicit reward is higher

 private:
  Gpt2& policy_;
  ModelReference reference_;
  const std::vector<Preference> pairs_;
  const PreferenceConfig config_;
  ParamSlab slab_;
  AdamW optimizer_;
  PreferenceOrder order_;
};

}  // namespace pg::rl

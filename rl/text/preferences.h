#pragma once
// Learning from preference pairs of responses: reward models and DPO.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nn/files/checkpoint.h"
#include "nn/optim.h"
#include "nn/ranks/gradient_sum.h"
#include "nn/train/schedule.h"
#include "rl/methods/other_losses.h"
#include "rl/text/metrics.h"
#include "rl/text/models.h"
#include "rl/text/trainer.h"
#include "tensor/comm/comm.h"

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
  int64_t batch = 32;       // pairs per step
  int64_t micro_batch = 0;  // pairs per forward pass; 0: all of a batch
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
  int64_t drawn() const { return drawn_; }  // the number of indices that next() has returned

 private:
  Generator generator_;
  std::vector<size_t> order_;
  size_t at_ = 0;
  int64_t drawn_ = 0;
};

// The steps of both trainers. The ranks of `comm` (nullptr: one) share out the micro-batches of a step, and the pairs
// of ordered_share(); each must be given the same model, pairs and config, and calls the same functions. On the CPU the
// bits do not depend on their number. The group must outlive the steps.
class PreferenceSteps {
 public:
  PreferenceSteps(Module& model, std::vector<Preference> pairs, const PreferenceConfig& config, Comm* comm);

  // The mean loss of some pairs. Their responses are the chosen ones followed by the rejected ones. It also writes
  // scalars of one dtype without gradient: the loss, how many pairs are ordered as labelled, and means over the pairs.
  // step() reads them from the device, once for all micro-batches.
  struct Means {
    Tensor loss, ordered;
    std::vector<Tensor> others;
  };
  using MeanLoss = std::function<Tensor(std::span<const Response* const> responses, Means& means)>;
  // One optimizer step on the next batch. Dropout draws from a stream for each step and micro-batch. Returns the
  // metrics "loss", "accuracy" (share of pairs ordered as labelled), those of `others` in the order in which a MeanLoss
  // writes them, and "grad_norm". If should_stop answers true as GradientSum::run() says, nothing is done, and there
  // are no metrics.
  Metrics step(const std::vector<const char*>& others, const MeanLoss& mean_loss,
               const std::function<bool()>& should_stop);

  // Share of pairs whose chosen response has the higher value. `values_of` is called without gradient, for a rank's own
  // pairs, and returns one value for each response.
  double ordered_share(const std::vector<Preference>& pairs,
                       const std::function<Tensor(std::span<const Response* const>)>& values_of) const;

  int64_t steps() const { return optimizer_.steps(); }
  // Writes a checkpoint: the model, the optimizer, the place in the order of the pairs, and `texts` as metadata.
  void save(const std::string& path, std::map<std::string, std::string> texts) const;
  // Continues with the next step after save(), bit for bit. Error if the pairs are not those of the run, or if the
  // checkpoint has no state of an optimizer.
  void resume(const Checkpoint& checkpoint);

 private:
  Module& model_;
  std::shared_ptr<Generator> dropout_stream_ = std::make_shared<Generator>();
  const std::vector<Preference> pairs_;
  const PreferenceConfig config_;
  ParamSlab slab_;
  const std::unique_ptr<Comm> one_rank_;  // if no group was given
  Comm& comm_;
  AdamW optimizer_;
  GradientSum gradient_;
  PreferenceOrder order_;
};

// Trains a scalar model with the Bradley-Terry loss.
class RewardModelTrainer {
 public:
  RewardModelTrainer(ScalarModel& model, std::vector<Preference> pairs, const PreferenceConfig& config,
                     Comm* comm = nullptr);
  // "loss", "accuracy", "score/mean", "grad_norm". None if should_stop has ended it (PreferenceSteps::step).
  Metrics step(const std::function<bool()>& should_stop = {});
  double accuracy(const std::vector<Preference>& pairs) const;  // share of pairs whose chosen response scores higher
  PreferenceSteps& state() { return steps_; }

 private:
  ScalarModel& model_;
  const double centring_;
  PreferenceSteps steps_;
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
  DpoTrainer(Transformer& policy, std::vector<Preference> pairs, const PreferenceConfig& config, Comm* comm = nullptr);
  // Returns "loss", "accuracy" (of the implicit rewards), "reward/chosen", "reward/rejected", "log_prob/chosen",
  // "log_prob/rejected", "grad_norm". Both log-probabilities may fall while the margin grows, so they are reported
  // separately. None if should_stop has ended the step (PreferenceSteps::step).
  Metrics step(const std::function<bool()>& should_stop = {});
  double accuracy(const std::vector<Preference>& pairs) const;  // share of pairs whose chosen response has the higher
                                                                // implicit reward
  // Its resume() changes the policy only: the reference is the policy that the trainer was made with.
  PreferenceSteps& state() { return steps_; }

 private:
  Tensor reference_log_probs(std::span<const Response* const> responses) const;

  Transformer& policy_;
  ModelReference reference_;
  const DpoOptions options_;
  PreferenceSteps steps_;
};

}  // namespace pg::rl

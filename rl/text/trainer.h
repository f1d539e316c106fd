#pragma once
// The training loop for text tasks: rollout, reward, advantage, update, metrics. A seed gives bit-identical results for
// any thread count, for a resumed run as for an uninterrupted one, and on the CPU for any number of ranks with the same
// BatchShape::micro_batch.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nn/files/checkpoint.h"
#include "nn/optim.h"
#include "nn/ranks/gradient_sum.h"
#include "nn/train/schedule.h"
#include "nn/train/trainer.h"
#include "rl/advantages.h"
#include "rl/methods/algorithm.h"
#include "rl/text/metrics.h"
#include "rl/text/ranks.h"
#include "rl/text/references.h"
#include "rl/text/rollout.h"
#include "rl/text/speed.h"
#include "tensor/base/fields.h"
#include "tensor/comm/comm.h"

namespace pg::rl {

struct AdaptiveTemperature {
  double target_std = 0;  // target standard deviation of a batch's rewards; 0: the temperature is constant
  double low = 0.6, high = 2;
};

struct RlConfig {
  Algorithm algorithm;
  BatchShape batch;
  int64_t steps = 200;
  double temperature = 1;
  AdaptiveTemperature adaptive_temperature = {};
  int64_t max_rows = 0;     // responses sampled at a time; 0: all
  bool exhaustive = false;  // batch.samples is the size of the vocabulary: every first token is tried
  std::vector<std::string> stop_strings = {};
  Schedule schedule = {.kind = Schedule::Kind::constant, .lr = 3e-4};
  bool shared_critic = false;                  // the critic is a second head on the policy instead of a separate model
  double critic_lr = 1e-3;                     // of the critic model or head
  AdamWOptions adamw = {0.9, 0.999, 1e-8, 0};  // β2 = 0.999: smaller values track reward noise
  double max_grad_norm = 1;                    // 0: no clipping
  double unfinished_penalty = 0;               // subtracted from the reward of a response that reached the length limit
  double log_prob_credit = 0;                  // times log π(token), added to each token's reward
  bool shuffle_rewards = false;  // a control experiment: permutes rewards over responses, so nothing can be learned
  // Responses whose advantage is 0 are left out of the updates, which saves their time and changes no gradient. Metrics
  // of the update, such as the entropy, are then those of the others.
  bool skip_zero_advantage = false;
  int64_t eval_interval = 10;  // 0: only at the end
  int64_t eval_problems = 200;
  int64_t checkpoint_interval = 50;  // 0: only at the end
  uint64_t seed = 1;
  MachineRates rates = {};  // if measured, "time/" metrics compare with them; the update's needs a Profile
  // The stage of ZeRO on several ranks, 0 to 2 (nn/param_slab.h), of policy and critic. The bits do not depend on it.
  int zero = 0;
};
// All fields but the algorithm's, stop_strings, rates and zero.
std::vector<Field> fields(RlConfig& config);

// The fields of the configuration and its algorithm that change nothing with its choices (rl/methods/algorithm.h).
std::vector<UnusedField> unused_fields(const RlConfig& config);

// Throws Error naming the first field out of its range, or fields that contradict each other, including the
// algorithm's.
void check_config(const RlConfig& config);

// One optimizer step of an update.
struct UpdateReport {
  int64_t epoch = 0, mini_batch = 0;
  double loss = 0, grad_norm = 0;  // of the mini-batch; the norm is before clipping
  double ratio_error = 0;          // largest |ratio - 1| so far in this step of the trainer
};

struct RlHooks {
  std::function<void(int64_t step, const Metrics&)> on_step = {};
  std::function<void(int64_t step, const Metrics&)> on_eval = {};  // also before the first step and after the last
  std::function<void(int64_t step, const Experience&)> on_held_out = {};  // after on_eval: its responses
  // At each step, before the update: the responses, and their numbers per token.
  std::function<void(int64_t step, const Experience&, const Batch&)> on_samples = {};
  std::function<void(const UpdateReport&)> on_update = {};
  std::function<void(int64_t step)> on_checkpoint = {};
  // Called before every step, and in a step after sampling, after scoring and between the micro-batches of the first
  // update, on all ranks: true ends the run. The step that was begun is then left out, as if it had not begun. From its
  // first update on a step is finished.
  std::function<bool()> should_stop = {};
  // Called between tokens and between scored micro-batches, on each rank for itself: true ends the sampling early. Then
  // should_stop must answer true on all ranks from then on.
  std::function<bool()> should_stop_here = {};
};

// Memory of tensors, in bytes.
struct RlMemory {
  StepMemory step;       // of policy and critic; the activations are those of the last step's updates
  size_t reference = 0;  // its weights
  size_t rollout = 0;    // added by the last step's rollout at its peak: the cache of keys and values, and temporaries
};

class RlTrainer {
 public:
  // Moves the policy's parameters into a slab. The policy must have no dropout, or the first ratio would not be 1. The
  // constructor makes the model for Algorithm::reference and the critic. Only the reference "given" uses `reference`,
  // of which it takes a copy. Throws Error for what check_config rejects, before any work.
  //
  // On the ranks of `comm` (nullptr: one) every rank has the whole models, and all must be given equal ones. They share
  // out the problems of a rollout, and the micro-batches of a mini-batch: micro-batch i belongs to rank i mod size. All
  // ranks call the same functions. save() is for one of them, but with RlConfig::zero for all, with one path.
  RlTrainer(Transformer& policy, const TextTask& task, const RlConfig& config, Judge judge = {},
            Transformer* reference = nullptr, Comm* comm = nullptr);
  RlTrainer(const RlTrainer&) = delete;

  // One rollout and all its updates. Throws Error naming the first reward, reward part or parameter gradient that is
  // not finite; then nothing was updated. It calls the hooks on_samples, on_update and the two that stop it.
  // If the step is left out, steps() and the state of the trainer are as before, and there are no metrics.
  Metrics step(const RlHooks& hooks = {});
  int64_t steps() const { return step_; }
  // Steps until RlConfig::steps or should_stop; true if all steps were done.
  bool run(const RlHooks& hooks);
  // evaluate_on_ranks() with the held-out problems. TextTask::held_out_note says how these problems differ from those
  // of training; compare "eval/prompt_length" with "prompt/length" of a step.
  Metrics evaluate(Experience* responses = nullptr);
  RlMemory memory() const;
  const std::vector<HealthCheck>& health_checks() const { return health_checks_; }  // of the last step

  // Saves policy, critic, reference, optimizers, generators, counters, the policy's config as metadata "model", and the
  // metadata in `texts`.
  void save(const std::string& path, std::map<std::string, std::string> texts = {});
  // Continues from a checkpoint, bit for bit. Throws Error if its model, or its given reference, is a different one. A
  // collective.
  void resume(const Checkpoint& checkpoint);

 private:
  Metrics try_step(const RlHooks& hooks);
  bool sample(double temperature, const RlHooks& hooks, Metrics& metrics, Experience& experience);
  Experience sample_on_ranks(const std::vector<Problem>& problems, RolloutOptions options);
  void weigh_parts(std::vector<Response>& responses) const;
  void add_penalties(Batch& batch, const Experience& experience);
  void score_tokens_before_update(Batch& batch, double temperature, const RlHooks& hooks);
  double add_kl(Batch& batch, Metrics& metrics);
  // Returns the positions that it computed; none if hooks.should_stop has left the step.
  std::optional<double> learn(const Batch& batch, double temperature, double beta, const RlHooks& hooks,
                              Metrics& metrics);
  double temperature() const;
  Module& critic_module() const;
  double clip_scale_or_one(double norm) const;
  void check_probabilities(const Batch& batch, double temperature, Metrics& metrics) const;

  const std::unique_ptr<Comm> one_rank_;  // if no group was given
  Comm& comm_;
  Transformer& policy_;
  Sampler sampler_;  // of the policy
  const TextTask& task_;
  const RlConfig config_;
  const Judge judge_;
  Generator problems_, order_;
  const uint64_t rollout_seed_;
  ParamSlab slab_;
  AdamW optimizer_;
  std::unique_ptr<ScalarModel> critic_;
  std::unique_ptr<Linear> value_head_;  // used instead of critic_ for a shared critic
  std::unique_ptr<ParamSlab> critic_slab_;
  std::unique_ptr<AdamW> critic_optimizer_;
  std::unique_ptr<GradientSum> gradient_;
  std::unique_ptr<Reference> reference_;
  MovingBaseline moving_;
  KlControl kl_;
  size_t rollout_memory_ = 0, update_memory_ = 0;  // of the last step
  StepWork work_;                                  // of this step
  double last_std_ = -1;                           // standard deviation of the last batch's rewards
  int64_t step_ = 0;
  std::vector<HealthCheck> health_checks_;
};

}  // namespace pg::rl

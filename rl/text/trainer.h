#pragma once
// The one loop for language: rollout, reward, advantage, update, and what is to be seen of it. The same seed gives the
// same bits for any thread count, in one go or resumed.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "nn/checkpoint.h"
#include "nn/optim.h"
#include "nn/schedule.h"
#include "rl/advantages.h"
#include "rl/algorithm.h"
#include "rl/text/metrics.h"
#include "rl/text/models.h"
#include "rl/text/rollout.h"

namespace pg::rl {

struct AdaptiveTemperature {
  double target_std = 0;  // of a batch's rewards; 0: the temperature stays
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
  bool shared_critic = false;  // the critic is one more head on the policy, instead of a model of its own
  double critic_lr = 1e-3;     // of that model or head
  AdamWOptions adamw = {0.9, 0.999, 1e-8, 0};  // β2 = 0.999: smaller values track reward noise
  double max_grad_norm = 1;                    // 0: no clipping
  double unfinished_penalty = 0;               // taken off the reward of a response that ran into the limit
  double log_prob_credit = 0;                  // times log π(token), added to each token's reward
  bool shuffle_rewards = false;  // a control: every response gets another's rewards, and nothing is to be learned
  int64_t eval_interval = 10;    // 0: only at the end
  int64_t eval_problems = 200;
  int64_t checkpoint_interval = 50;  // 0: only at the end
  uint64_t seed = 1;
};

// Error naming the first field out of its range, or fields that contradict each other; the algorithm's included.
void check_config(const RlConfig& config);

// What scores responses beside or instead of the task, a reward model above all: writes Score::reward and parts (and
// per_token, if it pays by token).
using Judge = std::function<void(std::vector<Response>&)>;

struct RlHooks {
  std::function<void(int64_t step, const Metrics&)> on_step = {};
  std::function<void(int64_t step, const Metrics&)> on_eval = {};  // before the first step and after the last, too
  std::function<void(int64_t step, const Experience&)> on_samples = {};  // of each step, before it is learned from
  std::function<void(int64_t step)> on_checkpoint = {};
  std::function<bool()> should_stop = {};
};

class RlTrainer {
 public:
  // Takes the policy's parameters into a slab; it must have no dropout, or the first ratio would not be 1. The model
  // that Algorithm::reference asks for is made here, as is the critic. ReferenceKind::given, and nothing else, takes a
  // copy of `reference`. Error for what check_config refuses, before any work.
  RlTrainer(Gpt2& policy, const TextTask& task, const RlConfig& config, Judge judge = {}, Gpt2* reference = nullptr);
  RlTrainer(const RlTrainer&) = delete;

  // One rollout and all its updates. Error naming the first reward, its part, or the first parameter's gradient that is
  // not finite; then nothing was updated.
  Metrics step();
  int64_t steps() const { return step_; }
  // Steps until RlConfig::steps or should_stop; true when all were done.
  bool run(const RlHooks& hooks);
  // Greedy responses to held-out problems, scored by the task (a Judge is what may be fooled): "eval/reward",
  // "eval/solved", "eval/length", "eval/prompt_length". TextTask::held_out_note says how these problems differ from
  // those of training; "prompt/length" of a step is the number to compare the last with.
  Metrics evaluate();
  const std::vector<Lamp>& lamps() const { return lamps_; }  // of the last step

  // Policy, critic, reference, optimizers, generators, counters, the policy's config as text "model", and these texts.
  void save(const std::string& path, std::map<std::string, std::string> texts = {});
  // Goes on, bit for bit. Error for a checkpoint of another model, or with another reference than the given one.
  void resume(const Checkpoint& checkpoint);

 private:
  Experience collect(double temperature);
  void make_reference(Gpt2* given);
  void shape(Experience& experience);
  void score_old(Experience& experience, double temperature, Metrics& metrics);
  void learn(Experience& experience, double temperature, Metrics& metrics);
  Module& critic_module();
  double clip_scale_or_one(double norm) const;
  void check_probabilities(const Experience& experience, double temperature, Metrics& metrics) const;

  Gpt2& policy_;
  const TextTask& task_;
  const RlConfig config_;
  const Judge judge_;
  Generator problems_, order_;
  const uint64_t rollout_seed_;
  ParamSlab slab_;
  AdamW optimizer_;
  std::unique_ptr<ScalarModel> critic_;
  std::unique_ptr<Linear> value_head_;  // in place of critic_
  std::unique_ptr<ParamSlab> critic_slab_;
  std::unique_ptr<AdamW> critic_optimizer_;
  std::unique_ptr<Reference> reference_;
  MovingBaseline moving_;
  KlControl kl_;
  double last_std_ = -1;  // of the last batch's rewards
  double beta_ = 0;       // of this step
  int64_t step_ = 0;
  std::vector<Lamp> lamps_;
  std::function<void(int64_t step, const Experience&)> on_samples_;
};

}  // namespace pg::rl

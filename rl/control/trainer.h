#pragma once
// Trains policies in environments, repeating rollout, advantages, update. With the defaults it is PPO (Schulman et al.
// 2017, arXiv:1707.06347) as in CleanRL and OpenAI's baselines. It has the core details of Huang et al. 2022 ("The 37
// implementation details of proximal policy optimization"): 1 parallel environments, rollouts of fixed length
// (VectorEnv); 2 orthogonal weights (ActorCritic); 3 Adam's eps; 4 learning rate annealing; 5 GAE; 6 mini-batches; 7
// advantages whitened per mini-batch; 8 the clipped ratio; 9 the clipped value; 10 the entropy bonus; 11 one gradient
// norm over policy and value; 12 logged values (EnvReport); 13 layers shared or not. For box action spaces: a Gaussian
// with a state-independent standard deviation and independent components, actions stored as sampled and clipped only by
// the environment, observations and rewards normalised and clipped. One thing differs: an episode truncated by
// the time limit is not treated as terminated. EnvFunctions replaces the functions of the algorithm in the same loop.
// B environments, T steps of each in a rollout. A seed gives bit-identical results for any thread count, for any number
// of ranks with equal micro-batches, and for a resumed run as for an uninterrupted one.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/files/checkpoint.h"
#include "nn/optim.h"
#include "nn/ranks/gradient_sum.h"
#include "rl/advantages.h"
#include "rl/control/actor_critic.h"
#include "rl/control/vector_env.h"
#include "rl/methods/other_losses.h"
#include "rl/policy_loss.h"
#include "tensor/base/fields.h"
#include "tensor/comm/comm.h"

namespace pg::rl {

struct EnvTrainConfig {
  std::string environment = "CartPole-v1";
  int64_t total_steps = 500000;  // over all environments together; only whole rollouts are run
  int64_t environments = 4;      // B
  int64_t rollout_steps = 128;   // T
  int64_t epochs = 4;            // passes over a rollout
  int64_t minibatches = 4;       // per pass: random parts of equal size; must divide B·T
  int64_t micro_batch = 0;       // steps of a mini-batch whose gradient is computed at once; 0: all of them
  double gamma = 0.99, lambda = 0.95;
  // The ratio is clipped below 1 - clip_low and above 1 + clip_high. Both 0: the policy gradient -A·log π.
  double clip_low = 0.2, clip_high = 0.2;
  double value_clip = 0.2;  // 0: no value clipping
  double entropy_coef = 0.01, value_coef = 0.5;
  double max_grad_norm = 0.5;  // of policy and value together; 0: no clipping
  double lr = 2.5e-4;          // of AdamW without weight decay
  bool anneal_lr = true;       // linearly to 0
  double adam_eps = 1e-5;
  bool whiten_advantages = true;  // per mini-batch
  double target_kl = 0;           // skips the rest of the epochs once the mean k3 of an epoch is above it; 0: never
  bool normalize_observations = false, normalize_rewards = false;
  int64_t hidden = 64, layers = 2;
  bool shared = false;  // one set of hidden layers for policy and value
  uint64_t seed = 1;

  bool operator==(const EnvTrainConfig&) const = default;
};
std::vector<Field> fields(EnvTrainConfig& config);
// Throws Error naming the first field out of its range, or fields that contradict each other.
void check_config(const EnvTrainConfig& config);
std::string to_json(const EnvTrainConfig& config);
EnvTrainConfig env_train_config_from_json(const std::string& text);

// Settings that work for an environment of make_environment(). CartPole-v1, Acrobot-v1 and MountainCar-v0 use the
// defaults above, which are CleanRL's. Pendulum-v1 and the arms use more data per update, both normalisations and no
// entropy bonus.
EnvTrainConfig env_recipe(const std::string& environment);
// env_recipe() without PPO: one unclipped step per rollout of 5 steps (A2C; Mnih et al. 2016, arXiv:1602.01783).
EnvTrainConfig a2c_recipe(const std::string& environment);
// The recipes by name: "ppo" and "a2c".
struct EnvRecipe {
  static constexpr const char* axis = "recipe";
  static const std::vector<EnvRecipe>& table();
  std::string name;
  EnvTrainConfig (*make)(const std::string& environment);
};

// The functions of the algorithm that EnvTrainer calls, with the arguments and results of the engine's functions, which
// are the defaults. They are no part of the configuration: a checkpoint does not hold them. An update calls them for
// one micro-batch at a time, on the rank that it belongs to. Without EnvTrainConfig::micro_batch that is the
// mini-batch; with it, what they compute for a step must not depend on the other steps, so that all micro-batches add
// up to the mini-batch.
struct EnvFunctions {
  std::function<Gae(const Tensor& rewards, const Tensor& values, const Tensor& next_values, const GaeOptions& options)>
      gae = rl::gae;  // called once per rollout, on every rank: f32 [B, T], terminated and truncated u8
  // Called once per micro-batch of N steps: ratio and advantage [N, 1]. With both clips 0 it is not called.
  std::function<Tensor(const Tensor& ratio, const Tensor& advantage, double low, double high)> clip_loss =
      rl::clip_loss;
  // Called once per micro-batch: values, returns and old_values [N], no mask.
  std::function<Tensor(const Tensor& values, const Tensor& returns, const Tensor& old_values, double clip,
                       const Tensor& mask)>
      value_loss = rl::value_loss;
  GaussianLogProb gaussian_log_prob = rl::gaussian_log_prob;  // not called for discrete actions
};

// One rollout as tensors; D values per observation, k per action.
struct EnvRollout {
  Tensor observations;           // [B, T, D], as the input of the policy (normalised if enabled)
  Tensor actions;                // [B, T, k], before any clipping to the action box
  Tensor log_prob, values;       // [B, T], of the policy that acted
  Tensor rewards;                // [B, T], normalised if enabled
  Tensor terminated, truncated;  // u8 [B, T]
  Tensor next_values;            // [B]: V of the observations after the last step
  Tensor final_values;           // [B, T]: V of the last observation of a truncated episode, 0 elsewhere
  Tensor advantages, returns;    // [B, T]
};

// An episode of EnvTrainer::record().
struct EnvEpisode {
  std::vector<std::vector<double>> states;  // Environment::state() without its first two: the initial one, then after
                                            // each step
  std::vector<std::vector<double>> actions;
  std::vector<double> rewards;
  bool terminated = false;
};

// Means over the mini-batches of an iteration, unless stated otherwise.
struct EnvReport {
  int64_t steps = 0;  // environment steps so far, including this iteration
  double policy_loss = 0, value_loss = 0, entropy = 0;
  double k1 = 0, k3 = 0;               // estimates of KL(policy that acted ‖ policy) on its actions
  double clip_low = 0, clip_high = 0;  // shares of ratios below 1 - config.clip_low and above 1 + config.clip_high
  double value_clip = 0;               // share of clipped values (clipped_values in rl/methods/other_losses.h)
  double grad_norm = 0;                // before clipping
  double first_ratio_error = 0;        // largest |ratio - 1| of the first mini-batch; a value other than 0 is a bug
  double explained_variance = 0;       // of the returns by the values used for the advantages
  double lr = 0;
  int64_t epochs = 0;                             // epochs completed before target_kl stopped the update
  int64_t episodes = 0;                           // episodes finished so far
  double episode_return = 0, episode_length = 0;  // raw, mean of the last 100 episodes; NaN before the first
  double steps_per_second = 0;

  // For RunDir::log.
  std::vector<std::pair<std::string, double>> named() const;
};

class EnvTrainer {
 public:
  // On the ranks of `comm` (nullptr: one), which must outlive the trainer, every rank has the whole model and all
  // environments, and all must be given the same arguments. They share out the steps of the environments (VectorEnv)
  // and the micro-batches of a mini-batch: micro-batch i belongs to rank i mod size. step(), rollout() and update() are
  // collectives. Afterwards all ranks have the same weights, report and state, so any of them may save().
  explicit EnvTrainer(const EnvTrainConfig& config, EnvFunctions functions = {}, Comm* comm = nullptr);
  // With a custom environment; config.environment is then only a name.
  EnvTrainer(const EnvTrainConfig& config, const MakeEnvironment& make, EnvFunctions functions = {},
             Comm* comm = nullptr);
  EnvTrainer(const EnvTrainer&) = delete;

  // One iteration. Throws Error if a gradient is not finite; the weights are then those before the mini-batch.
  EnvReport step();
  bool done() const { return steps_ + batch_size() > config_.total_steps; }
  // steps() when done: the largest multiple of a rollout's steps that is at most EnvTrainConfig::total_steps.
  int64_t last_step() const { return config_.total_steps / batch_size() * batch_size(); }
  int64_t steps() const { return steps_; }  // environment steps so far

  // The two halves of step(). rollout() acts for T steps, which advances the environments. update() takes
  // epochs·minibatches gradient steps on the rollout.
  EnvRollout rollout();
  EnvReport update(const EnvRollout& rollout);

  // Raw returns of whole episodes in a separate environment, with sampled actions or, if `greedy`, the most likely
  // ones. It does not affect training.
  std::vector<double> play(int64_t episodes, bool greedy, uint64_t seed) const;
  // The episode that play(1, greedy, seed) plays.
  EnvEpisode record(bool greedy, uint64_t seed) const;

  const EnvTrainConfig& config() const { return config_; }
  ActorCritic& model() { return model_; }
  const VectorEnv& environments() const { return envs_; }

  // Saves a checkpoint: weights, optimizer, random streams, environments with their running statistics, the
  // configuration as metadata "env_train_config", and the metadata in `texts`.
  void save(const std::string& path, std::map<std::string, std::string> texts = {});
  // Continues from a checkpoint of the same configuration, bit for bit, on any number of ranks.
  void resume(const Checkpoint& checkpoint);

 private:
  // What a step of an episode was: the state after it, the action, what came of it.
  using Watch = std::function<void(const Environment&, const std::vector<double>& action, const Transition&)>;
  // Whole episodes; `begun` is called after each reset.
  void watch(int64_t episodes, bool greedy, uint64_t seed, const std::function<void(const Environment&)>& begun,
             const Watch& stepped) const;
  int64_t batch_size() const { return config_.environments * config_.rollout_steps; }
  double learning_rate() const;

  EnvTrainConfig config_;
  EnvFunctions functions_;
  MakeEnvironment make_;
  const std::unique_ptr<Comm> one_rank_;  // if no group was given
  Comm& comm_;
  Generator actions_, minibatches_;
  VectorEnv envs_;
  ActorCritic model_;
  ParamSlab slab_;
  GradientSum gradient_;
  AdamW optimizer_;
  int64_t steps_ = 0;
};

}  // namespace pg::rl

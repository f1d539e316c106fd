#pragma once
// Policies trained in environments: rollout, advantages, update, again. With the defaults it is PPO (Schulman et al.
// 2017, arXiv:1707.06347) as CleanRL and OpenAI's baselines run it. Of the details that Huang et al. 2022 list ("The 37
// implementation details of proximal policy optimization") the core ones are here: 1 environments side by side,
// rollouts of fixed length (VectorEnv); 2 orthogonal weights (ActorCritic); 3 Adam's eps; 4 a falling learning rate; 5
// GAE; 6 mini-batches; 7 advantages whitened per mini-batch; 8 the clipped ratio; 9 the clipped value; 10 the entropy
// bonus; 11 one gradient norm over policy and value; 12 what is logged (EnvReport); 13 layers shared or not. For boxes
// of actions: a Gaussian with a free standard deviation and independent numbers, actions kept as sampled and clipped by
// the environment only, observations and rewards normalised and clipped. One thing is done better: an episode that the
// clock cuts is not taken for one that ended.
// B environments, T steps of each in a rollout. The same seed gives the same bits for any thread count, in one go or
// resumed.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "nn/checkpoint.h"
#include "nn/optim.h"
#include "rl/control/actor_critic.h"
#include "rl/control/vector_env.h"

namespace pg::rl {

struct EnvTrainConfig {
  std::string environment = "CartPole-v1";
  int64_t total_steps = 500000;  // of all environments together; whole rollouts only
  int64_t environments = 4;      // B
  int64_t rollout_steps = 128;   // T
  int64_t epochs = 4;            // passes over a rollout
  int64_t minibatches = 4;       // parts that each pass is cut into, at random; must divide B·T
  double gamma = 0.99, lambda = 0.95;
  double clip = 0.2;        // of the ratio; 0: the plain policy gradient -A·log π
  double value_clip = 0.2;  // 0: none
  double entropy_coef = 0.01, value_coef = 0.5;
  double max_grad_norm = 0.5;  // of policy and value together; 0: no clipping
  double lr = 2.5e-4;          // of AdamW without decay
  bool anneal_lr = true;       // in a straight line to 0
  double adam_eps = 1e-5;
  bool whiten_advantages = true;  // per mini-batch
  double target_kl = 0;           // an epoch whose mean k3 is above it is the rollout's last; 0: never
  bool normalize_observations = false, normalize_rewards = false;
  int64_t hidden = 64, layers = 2;
  bool shared = false;  // one set of hidden layers for policy and value
  uint64_t seed = 1;

  bool operator==(const EnvTrainConfig&) const = default;
};
// Error naming the first field out of its range, or fields that contradict each other.
void check_config(const EnvTrainConfig& config);
std::string to_json(const EnvTrainConfig& config);
EnvTrainConfig env_train_config_from_json(const std::string& text);

// What works for an environment that make_environment() knows. CartPole-v1, Acrobot-v1, MountainCar-v0: the defaults
// above, CleanRL's. Pendulum-v1 and the arms: more data per update, both normalisations, no entropy bonus.
EnvTrainConfig env_recipe(const std::string& environment);
// The same without PPO: one unclipped step per rollout of 5 steps (A2C; Mnih et al. 2016, arXiv:1602.01783).
EnvTrainConfig a2c_recipe(const std::string& environment);

// One rollout as tensors; D numbers per observation, k per action.
struct EnvRollout {
  Tensor observations;           // [B, T, D], as the policy saw them
  Tensor actions;                // [B, T, k], before any clipping to the action box
  Tensor log_prob, values;       // [B, T], of the policy that acted
  Tensor rewards;                // [B, T], normalised if wanted
  Tensor terminated, truncated;  // u8 [B, T]
  Tensor next_values;            // [B]: V of what the environments show after the last step
  Tensor final_values;           // [B, T]: V of the last observation of a truncated episode, 0 elsewhere
  Tensor advantages, returns;    // [B, T]
};

// Means over the mini-batches of an iteration, unless said otherwise.
struct EnvReport {
  int64_t steps = 0;  // environment steps so far, this iteration's included
  double policy_loss = 0, value_loss = 0, entropy = 0;
  double k1 = 0, k3 = 0;               // estimates of KL(policy that acted ‖ policy), from its actions
  double clip_low = 0, clip_high = 0;  // shares of ratios below 1 - clip and above 1 + clip
  double value_clip = 0;               // share of values that the clip holds (clipped_values in rl/value_loss.h)
  double grad_norm = 0;                // before clipping
  double first_ratio_error = 0;        // largest |ratio - 1| of the first mini-batch: exactly 0, or something is wrong
  double explained_variance = 0;       // of the returns by the values that made the advantages
  double lr = 0;
  int64_t epochs = 0;                             // done before target_kl stopped them
  int64_t episodes = 0;                           // finished so far
  double episode_return = 0, episode_length = 0;  // raw, mean of the last 100 episodes; NaN before the first
  double steps_per_second = 0;

  // For RunDir::log.
  std::vector<std::pair<std::string, double>> named() const;
};

class EnvTrainer {
 public:
  explicit EnvTrainer(const EnvTrainConfig& config);
  // In an environment of one's own; config.environment is only a name then.
  EnvTrainer(const EnvTrainConfig& config, const MakeEnvironment& make);
  EnvTrainer(const EnvTrainer&) = delete;

  // One iteration. Error, with the weights as they were before the mini-batch, when a gradient is not finite.
  EnvReport step();
  bool done() const { return steps_ + batch_size() > config_.total_steps; }
  int64_t steps() const { return steps_; }  // of the environments

  // The two halves of step(). rollout() acts for T steps, which moves the environments on; update() takes
  // epochs·minibatches gradient steps on what it brought.
  EnvRollout rollout();
  EnvReport update(const EnvRollout& rollout);

  // Raw returns of whole episodes in an environment of their own, sampled or with the most likely action each time.
  // Training is undisturbed.
  std::vector<double> play(int64_t episodes, bool greedy, uint64_t seed) const;

  const EnvTrainConfig& config() const { return config_; }
  ActorCritic& model() { return model_; }
  const VectorEnv& environments() const { return envs_; }

  // A checkpoint: weights, optimizer, random streams, environments with their running statistics, the configuration as
  // text "env_train_config", and these texts.
  void save(const std::string& path, std::map<std::string, std::string> texts = {});
  // Goes on from a checkpoint of the same configuration, bit for bit.
  void resume(const Checkpoint& checkpoint);

 private:
  int64_t batch_size() const { return config_.environments * config_.rollout_steps; }
  double learning_rate() const;

  EnvTrainConfig config_;
  MakeEnvironment make_;
  Generator actions_, minibatches_;
  VectorEnv envs_;
  ActorCritic model_;
  ParamSlab slab_;
  AdamW optimizer_;
  int64_t steps_ = 0;
};

}  // namespace pg::rl

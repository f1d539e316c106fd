// The configuration of EnvTrainer: its fields, checks, JSON and recipes. The names of the logged values.
#include "nn/config_json.h"
#include "rl/control/trainer.h"
#include "tensor/base/error.h"

namespace pg::rl {

std::vector<Field> fields(EnvTrainConfig& c) {
  return {
      {"environment", &c.environment, "name of the environment"},
      {"total-steps", &c.total_steps, "steps of all environments together", whole_from(1)},
      {"environments", &c.environments, "environments side by side", whole_from(1, 1 << 20)},
      {"rollout-steps", &c.rollout_steps, "steps of each environment between updates", whole_from(1, 1 << 30)},
      {"epochs", &c.epochs, "passes over a rollout", whole_from(1)},
      {"minibatches", &c.minibatches, "optimizer steps per epoch", whole_from(1)},
      {.name = "micro-batch",
       .value = &c.micro_batch,
       .about = "steps whose gradient is computed at once; 0: those of a mini-batch",
       .range = whole_from(0),
       .absent = "0"},  // checkpoints of older versions lack it
      {"gamma", &c.gamma, "discount of later rewards", kShare},
      {"lambda", &c.lambda, "decay of GAE", kShare},
      {.name = "clip-low",
       .value = &c.clip_low,
       .about = "ratios below 1 minus this are clipped; with clip-high 0: the policy gradient without a ratio",
       .range = kShare,
       .former = {"clip"}},
      {.name = "clip-high",
       .value = &c.clip_high,
       .about = "ratios above 1 plus this are clipped",
       .range = kNotNegative,
       .former = {"clip"}},
      {"value-clip", &c.value_clip, "largest change of a value in an update; 0: any", kNotNegative},
      {"entropy-coef", &c.entropy_coef, "weight of the entropy bonus", kAnyNumber},
      {"value-coef", &c.value_coef, "weight of the value loss", kNotNegative},
      {"max-grad-norm", &c.max_grad_norm, "largest gradient norm; 0: any", kNotNegative},
      {"lr", &c.lr, "learning rate", kNotNegative},
      {"anneal-lr", &c.anneal_lr, "the learning rate falls to 0 linearly"},
      {"adam-eps", &c.adam_eps, "AdamW: added to the root of the mean square", kPositive},
      {"whiten-advantages", &c.whiten_advantages, "advantages have mean 0 and standard deviation 1 in a mini-batch"},
      {"target-kl", &c.target_kl, "mean k3 that ends the epochs of a rollout; 0: none", kNotNegative},
      {"normalize-observations", &c.normalize_observations, "by their running mean and standard deviation"},
      {"normalize-rewards", &c.normalize_rewards, "by the running standard deviation of returns"},
      {"hidden", &c.hidden, "width of the hidden layers", whole_from(1, 1 << 20)},
      {"layers", &c.layers, "hidden layers", whole_from(1, 1 << 10)},
      {"shared", &c.shared, "policy and value share the hidden layers"},
      {"seed", &c.seed, "the same seed gives the same policy, bit for bit"},
  };
}

void check_config(const EnvTrainConfig& config) {
  EnvTrainConfig c = config;
  check_fields("EnvTrainer", fields(c));
  const int64_t batch = c.environments * c.rollout_steps;
  check(batch % c.minibatches == 0, "EnvTrainer: {} environments × {} steps are not divisible into {} mini-batches",
        c.environments, c.rollout_steps, c.minibatches);
  check(c.total_steps >= batch, "EnvTrainer: total-steps is {}, but one rollout has {} × {} steps", c.total_steps,
        c.environments, c.rollout_steps);
}

std::string to_json(const EnvTrainConfig& config) {
  EnvTrainConfig copy = config;
  return pg::to_json(fields(copy));
}

EnvTrainConfig env_train_config_from_json(const std::string& text) {
  EnvTrainConfig config;
  set_from_json(fields(config), text, "env_train_config");
  return config;
}

EnvTrainConfig env_recipe(const std::string& environment) {
  const auto space = make_environment(environment)->action_space();
  EnvTrainConfig c;
  c.environment = environment;
  if (space.discrete()) return c;
  c.rollout_steps = 512;
  c.epochs = 10;
  c.minibatches = 32;
  c.lr = 5e-4;
  c.entropy_coef = 0;
  c.normalize_observations = c.normalize_rewards = true;
  c.gamma = environment == "Pendulum-v1" ? 0.9 : 0.95;  // the effect of a push shows within a second
  return c;
}

EnvTrainConfig a2c_recipe(const std::string& environment) {
  EnvTrainConfig c = env_recipe(environment);
  c.environments = 16;
  c.rollout_steps = 5;
  c.epochs = c.minibatches = 1;
  c.lambda = 1;
  c.clip_low = c.clip_high = c.value_clip = 0;
  c.whiten_advantages = false;
  c.lr = 7e-4;
  return c;
}

const std::vector<EnvRecipe>& EnvRecipe::table() {
  static const std::vector<EnvRecipe> all = {{"ppo", env_recipe}, {"a2c", a2c_recipe}};
  return all;
}

std::vector<std::pair<std::string, double>> EnvReport::named() const {
  return {{"episode_return", episode_return},
          {"episode_length", episode_length},
          {"episodes", static_cast<double>(episodes)},
          {"policy_loss", policy_loss},
          {"value_loss", value_loss},
          {"entropy", entropy},
          {"approx_kl_k1", k1},
          {"approx_kl_k3", k3},
          {"clip_fraction_low", clip_low},
          {"clip_fraction_high", clip_high},
          {"value_clip_fraction", value_clip},
          {"first_ratio_error", first_ratio_error},
          {"explained_variance", explained_variance},
          {"grad_norm", grad_norm},
          {"lr", lr},
          {"epochs", static_cast<double>(epochs)},
          {"steps_per_second", steps_per_second}};
}

}  // namespace pg::rl

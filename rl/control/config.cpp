// The configuration as JSON, the recipes, and the names of the logged values.
#include <nlohmann/json.hpp>

#include "rl/control/trainer.h"
#include "tensor/base/range.h"
#include "tensor/base/text.h"

namespace pg::rl {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(EnvTrainConfig, environment, total_steps, environments, rollout_steps, epochs,
                                   minibatches, gamma, lambda, clip, value_clip, entropy_coef, value_coef,
                                   max_grad_norm, lr, anneal_lr, adam_eps, whiten_advantages, target_kl,
                                   normalize_observations, normalize_rewards, hidden, layers, shared, seed)

void check_config(const EnvTrainConfig& c) {
  const auto in = [](const char* name, auto value, const Range& range) {
    check_range(fmt::format("EnvTrainer: {}", name), static_cast<double>(value), range);
  };
  in("total_steps", c.total_steps, whole_from(1));
  in("environments", c.environments, whole_from(1, 1 << 20));
  in("rollout_steps", c.rollout_steps, whole_from(1, 1 << 30));
  in("epochs", c.epochs, whole_from(1));
  in("minibatches", c.minibatches, whole_from(1));
  in("gamma", c.gamma, kShare);
  in("lambda", c.lambda, kShare);
  in("clip", c.clip, kShare);
  in("value_clip", c.value_clip, kNotNegative);
  in("entropy_coef", c.entropy_coef, kAnyNumber);
  in("value_coef", c.value_coef, kNotNegative);
  in("max_grad_norm", c.max_grad_norm, kNotNegative);
  in("lr", c.lr, kNotNegative);
  in("adam_eps", c.adam_eps, kPositive);
  in("target_kl", c.target_kl, kNotNegative);
  in("hidden", c.hidden, whole_from(1, 1 << 20));
  in("layers", c.layers, whole_from(1, 1 << 10));
  const int64_t batch = c.environments * c.rollout_steps;
  check(batch % c.minibatches == 0, "EnvTrainer: {} environments × {} steps are not divisible into {} mini-batches",
        c.environments, c.rollout_steps, c.minibatches);
  check(c.total_steps >= batch, "EnvTrainer: total_steps is {}, but one rollout has {} × {} steps", c.total_steps,
        c.environments, c.rollout_steps);
}

std::string to_json(const EnvTrainConfig& config) { return nlohmann::json(config).dump(); }

EnvTrainConfig env_train_config_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(shallow_json(text, "env_train_config")).get<EnvTrainConfig>();
  } catch (const nlohmann::json::exception& e) {
    fail("env_train_config: {}", excerpt(e.what(), 200));
  }
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
  c.clip = c.value_clip = 0;
  c.whiten_advantages = false;
  c.lr = 7e-4;
  return c;
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

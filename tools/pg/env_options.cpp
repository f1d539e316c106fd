// The options of pg env.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tensor/base/error.h"
#include "tools/pg/env.h"
#include "tools/pg/run/numbers.h"

namespace pg::tools {
namespace {

using nlohmann::json;

json as_json(const rl::EnvTrainConfig& config) {
  json all = json::parse(rl::to_json(config));
  all.erase("environment");  // it has a separate option
  return all;
}

std::string option_name(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

constexpr std::pair<const char*, const char*> kAbout[] = {
    {"adam_eps", "AdamW's eps"},
    {"anneal_lr", "the learning rate falls to 0 in a straight line"},
    {"clip", "of the ratio; 0: the plain policy gradient"},
    {"entropy_coef", "weight of the entropy bonus"},
    {"environments", "side by side"},
    {"epochs", "passes over a rollout"},
    {"gamma", "discount of later rewards"},
    {"hidden", "width of the hidden layers"},
    {"lambda", "of GAE"},
    {"layers", "hidden layers"},
    {"lr", "learning rate"},
    {"max_grad_norm", "largest gradient norm; 0: any"},
    {"minibatches", "optimizer steps per epoch"},
    {"normalize_observations", "by their running mean and deviation"},
    {"normalize_rewards", "by the running deviation of returns"},
    {"rollout_steps", "of each environment between updates"},
    {"seed", "the same seed gives the same policy, bit for bit"},
    {"shared", "one set of hidden layers for policy and value"},
    {"target_kl", "mean k3 that ends the epochs of a rollout; 0: none"},
    {"total_steps", "of all environments together"},
    {"value_clip", "how far a value may move in an update; 0: any"},
    {"value_coef", "weight of the value loss"},
    {"whiten_advantages", "per mini-batch"},
};

}  // namespace

void add_env_options(CLI::App& app, EnvOptions& o) {
  app.add_option("--config", o.config, "a YAML file with these options; the command line wins over it")
      ->configurable(false);
  app.add_option("--resume", o.resume, "go on with the run in this folder, bit for bit")->configurable(false);
  app.add_option("--environment", o.environment, fmt::format("{}", fmt::join(environment_names(), ", ")));
  app.add_option("--recipe", o.recipe, "ppo or a2c: what the options from --adam-eps on are, unless given")
      ->transform(one_of({"ppo", "a2c"}));
  for (const auto& [key, about] : kAbout) {
    app.add_option_function<std::string>(
           option_name(key), [&o, name = std::string(key)](const std::string& value) { o.overrides[name] = value; },
           about)
        ->default_str("");
  }
  app.add_option("--out", o.out, "the folder of all runs");
  app.add_option("--name", o.name, "the run's name; empty: the environment's");
  app.add_option("--threads", o.threads, "threads; 0: as many as cores")->transform(whole(0, 1024));
  app.add_option("--eval-episodes", o.eval_episodes, "greedy episodes after the last step; 0: none")
      ->transform(whole(0, 1000000));
  app.add_option("--save-every", o.save_every, "updates between checkpoints; 0: only at the end")->transform(whole(0));
}

rl::EnvTrainConfig config_of(const EnvOptions& o) {
  const rl::EnvTrainConfig recipe = o.recipe == "a2c" ? rl::a2c_recipe(o.environment) : rl::env_recipe(o.environment);
  json all = as_json(recipe);
  for (const auto& [key, text] : o.overrides) {
    if (text.empty()) continue;
    const json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
    const json& old = all.at(key);
    const bool fits = old.is_boolean()        ? value.is_boolean()
                      : old.is_number_float() ? value.is_number()
                                              : value.is_number_unsigned();
    check(fits, "{}: expected {}, got \"{}\"", option_name(key),
          old.is_boolean()        ? "true or false"
          : old.is_number_float() ? "a number"
                                  : "a whole number of at least 0",
          text);
    all[key] = value;
  }
  all["environment"] = o.environment;
  return rl::env_train_config_from_json(all.dump());
}

void state_recipe(CLI::App& app, const rl::EnvTrainConfig& config) {
  const json all = as_json(config);
  for (const auto& [key, value] : all.items()) app.get_option(option_name(key))->default_str(value.dump());
}

}  // namespace pg::tools

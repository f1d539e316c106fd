#pragma once
// pg env: trains a policy in an environment.
#include <map>
#include <string>

#include "rl/control/trainer.h"

namespace CLI {
class App;
}

namespace pg::tools {

struct EnvOptions {
  std::string environment = "CartPole-v1", recipe = "ppo";
  std::map<std::string, std::string> overrides;  // of the recipe's fields, by name
  std::string out = "runs", name, config, resume;
  int threads = 0;
  int64_t eval_episodes = 100, save_every = 100;
};
int run_env(const EnvOptions& options);
// The recipe for the environment with the overrides applied.
rl::EnvTrainConfig config_of(const EnvOptions& options);

void add_env_options(CLI::App& app, EnvOptions& options);
// Makes the recipe's values the defaults of their options, so that a saved config includes them.
void state_recipe(CLI::App& app, const rl::EnvTrainConfig& config);

}  // namespace pg::tools

#include "tools/pg/env.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "nn/progress.h"
#include "nn/run_dir.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tools/pg/commands.h"

namespace pg::tools {
namespace {

using nlohmann::json;

json as_json(const rl::EnvTrainConfig& config) {
  json all = json::parse(rl::to_json(config));
  all.erase("environment");  // an option of its own
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
      ->check(CLI::IsMember({"ppo", "a2c"}));
  for (const auto& [key, about] : kAbout) {
    app.add_option_function<std::string>(
           option_name(key), [&o, name = std::string(key)](const std::string& value) { o.overrides[name] = value; },
           about)
        ->default_str("");
  }
  app.add_option("--out", o.out, "the folder of all runs");
  app.add_option("--name", o.name, "the run's name; empty: the environment's");
  app.add_option("--threads", o.threads, "threads; 0: as many as cores");
  app.add_option("--eval-episodes", o.eval_episodes, "greedy episodes after the last step; 0: none");
  app.add_option("--save-every", o.save_every, "updates between checkpoints; 0: only at the end");
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
                                              : value.is_number_integer();
    check(fits, "{}: expected {}, got \"{}\"", option_name(key),
          old.is_boolean()        ? "true or false"
          : old.is_number_float() ? "a number"
                                  : "a whole number",
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

int run_env(const EnvOptions& o) {
  if (o.threads > 0) set_num_threads(o.threads);
  const rl::EnvTrainConfig config = config_of(o);
  rl::EnvTrainer trainer(config);
  if (!o.resume.empty()) trainer.resume(load_checkpoint(checkpoint_path(o.resume)));
  RunDir run = o.resume.empty() ? RunDir::create(o.out, o.name.empty() ? o.environment : o.name)
                                : RunDir::resume(o.resume, trainer.steps() + 1);
  run.save_config(o.config);
  fmt::print("{}: {} parameters, {} environments x {} steps per update; {}\n", config.environment,
             count_parameters(trainer.model()), config.environments, config.rollout_steps, run.path());
  std::fflush(stdout);

  catch_interrupt();
  std::optional<Progress> progress(std::in_place, trainer.steps(), config.total_steps);
  const auto save = [&] { trainer.save(checkpoint_path(run.path())); };
  std::string last;
  int64_t updates = 0;
  while (!trainer.done()) {
    if (interrupted()) {
      save();
      progress->print(
          fmt::format("stopped after {} steps; go on with:  pg env --resume {}", trainer.steps(), run.path()));
      return 130;
    }
    const rl::EnvReport report = trainer.step();
    run.log(report.steps, report.named());
    last = fmt::format("return {:.1f} over the last {} episodes", report.episode_return,
                       std::min<int64_t>(100, report.episodes));
    progress->update(report.steps,
                     fmt::format("{}  entropy {:.2f}  clipped {:.0f} %  {:.0f} steps/s", last, report.entropy,
                                 100 * (report.clip_low + report.clip_high), report.steps_per_second));
    if (o.save_every > 0 && ++updates % o.save_every == 0) save();
  }
  save();
  progress.reset();
  fmt::print("after {} steps: {}", trainer.steps(), last);
  if (o.eval_episodes > 0) {
    const std::vector<double> returns = trainer.play(o.eval_episodes, /*greedy=*/true, config.seed);
    fmt::print("; {:.1f} over {} greedy ones",
               std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size()),
               returns.size());
  }
  fmt::print("\n");
  return 0;
}

}  // namespace pg::tools

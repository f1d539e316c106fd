// pg env: trains a policy in an environment.
#include <numeric>
#include <optional>

#include "rl/control/trainer.h"
#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/model_options.h"
#include "tools/pg/run/process.h"
#include "tools/pg/run/progress.h"
#include "tools/pg/run/run_dir.h"

namespace pg::tools {

namespace {

struct EnvOptions {
  RunOptions run;
  Choice<rl::EnvRecipe> recipe = "ppo";
  rl::EnvTrainConfig env;
  int64_t eval_episodes = 100, save_every = 100;
};

// The environment's name and all that is not in the recipe.
std::vector<Field> fields(EnvOptions& o) {
  return joined(
      fields(o.run),
      {{"environment", one_of(o.env.environment, names_of(environments())), "what the policy acts in"},
       {"recipe", row_field(o.recipe), "what the options of the recipe are unless given"},
       {"eval-episodes", &o.eval_episodes, "greedy episodes after the last step; 0: none", whole_from(0, 1000000)},
       {"save-every", &o.save_every, "updates between checkpoints; 0: only at the end", whole_from(0)}});
}

std::vector<Field> recipe_fields(rl::EnvTrainConfig& config) {
  std::vector<Field> all = rl::fields(config);
  std::erase_if(all, [](const Field& field) { return field.name == "environment"; });
  return all;
}

int run_env(const EnvOptions& o) {
  std::optional<RunDir> opened = open_run(o.run.resume);
  const bool resumed = has_checkpoint(opened);
  start_threads(o.run.threads);
  const rl::EnvTrainConfig& config = o.env;
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  check_memory(16 * n(config.layers) * n(config.hidden) * n(config.hidden) +
                   8 * n(config.environments) * n(config.rollout_steps),
               fmt::format("a model of {} layers of {} and rollouts of {} x {} steps", config.layers, config.hidden,
                           config.environments, config.rollout_steps),
               "smaller ones");
  rl::EnvTrainer trainer(config);
  if (resumed) trainer.resume(load_checkpoint(checkpoint_path(o.run.resume)));
  RunDir run =
      start_run(std::move(opened), trainer.steps(), o.run.out, o.run.name.empty() ? config.environment : o.run.name);
  run.save_config(o.run.config);
  remark(stdout, "{}: {} parameters, {} environments x {} steps per update; {}\n", config.environment,
         count_parameters(trainer.model()), config.environments, config.rollout_steps, run.path());

  catch_interrupt();
  std::optional<Progress> progress(std::in_place, trainer.steps(), config.total_steps);
  const auto save = [&] {
    trainer.save(checkpoint_path(run.path()), {{"kind", "env"}});
    note_saved(run);
  };
  std::string last;
  int64_t updates = 0;
  while (!trainer.done()) {
    if (interrupted()) {
      save();
      return end_stopped(*progress, run, "env", fmt::format("{} steps", trainer.steps()));
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
  remark(stdout, "after {} steps: {}", trainer.steps(), last);
  if (o.eval_episodes > 0) {
    const std::vector<double> returns = trainer.play(o.eval_episodes, /*greedy=*/true, config.seed);
    remark(stdout, "; {:.1f} over {} greedy ones",
           std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size()), returns.size());
  }
  remark(stdout, "\n");
  return 0;
}

}  // namespace

Command env_command() {
  const auto o = std::make_shared<EnvOptions>();
  const auto run = [o](Given& given) {
    read_files(given, o->run);
    o->env = o->recipe.make(o->env.environment);
    given.apply(recipe_fields(o->env));
    o->run.config = given.yaml(joined(fields(*o), recipe_fields(o->env)));
    return run_env(*o);
  };
  std::string notes = "Environments:\n";
  for (const EnvironmentRow& row : environments()) notes += fmt::format("  {:<19}{}\n", row.name, row.about);
  return {.name = "env",
          .about = "a policy learns to act: CartPole, Pendulum, an arm",
          .fields = fields(*o),
          .run = run,
          .changes = {{"Options of the recipe", recipe_fields(o->env)}},
          .notes = notes};
}

}  // namespace pg::tools

// pg env: trains a policy in an environment.
#include <numeric>

#include "nn/train/run_steps.h"
#include "rl/control/trainer.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/run/session.h"

namespace pg::tools {

namespace {

struct EnvOptions {
  RunOptions run;
  RankOptions ranks;
  Choice<rl::EnvRecipe> recipe = "ppo";
  rl::EnvTrainConfig env;
  int64_t eval_episodes = 100, save_every = 100;
};

// The environment's name and all that is not in the recipe.
std::vector<Field> fields(EnvOptions& o) {
  return joined(
      {fields(o.run),
       fields(o.ranks),
       {{"environment", one_of(o.env.environment, names_of(environments())), "what the policy acts in"},
        {"recipe", row_field(o.recipe), "what the options of the recipe are unless given"},
        {"eval-episodes", &o.eval_episodes, "greedy episodes after the last step; 0: none", whole_from(0, 1000000)},
        {"save-every", &o.save_every, "updates between checkpoints; 0: only at the end", whole_from(0)}}});
}

std::vector<Field> recipe_fields(rl::EnvTrainConfig& config) {
  std::vector<Field> all = rl::fields(config);
  std::erase_if(all, [](const Field& field) { return field.name == "environment"; });
  return annotated(std::move(all), {{"micro-batch", "with --ranks and unless given, so few that each rank has some"}});
}

// The steps of a mini-batch, divided among the ranks.
int64_t micro_batch_for(const rl::EnvTrainConfig& config, int ranks) {
  return (config.environments * config.rollout_steps / config.minibatches + ranks - 1) / ranks;
}

void check_env_memory(const rl::EnvTrainConfig& config) {
  const auto n = [](int64_t x) { return static_cast<double>(x); };
  check_memory(16 * n(config.layers) * n(config.hidden) * n(config.hidden) +
                   8 * n(config.environments) * n(config.rollout_steps),
               fmt::format("a model of {} layers of {} and rollouts of {} x {} steps", config.layers, config.hidden,
                           config.environments, config.rollout_steps),
               "smaller ones");
}

// The last line of a run.
void print_result(const EnvOptions& o, RunSession& session, rl::EnvTrainer& trainer, const std::string& last) {
  remark(stdout, "after {} steps: {}", trainer.steps(), last);
  if (session.folder() && o.eval_episodes > 0) {
    const std::vector<double> returns = trainer.play(o.eval_episodes, /*greedy=*/true, o.env.seed);
    remark(stdout, "; return {:.1f} over {} greedy episodes",
           std::accumulate(returns.begin(), returns.end(), 0.0) / static_cast<double>(returns.size()), returns.size());
  }
  remark(stdout, "\n");
}

int run_env(const EnvOptions& o, Comm& comm) {
  RunSession session(comm, o.run, "env");
  const rl::EnvTrainConfig& config = o.env;
  check_env_memory(config);
  rl::EnvTrainer trainer(config, {}, &comm);
  if (session.resumed()) trainer.resume(load_checkpoint(session.resumed_checkpoint()));
  session.begin(trainer.steps(), trainer.last_step(), config.environment);
  remark(stdout, "{}: {} parameters, {} environments x {} steps per update; {}\n", config.environment,
         count_parameters(trainer.model()), config.environments, config.rollout_steps, session.path());

  const auto record = [&](uint64_t seed) {
    if (!session.folder()) return;
    append_episode(*session.folder(), trainer.record(/*greedy=*/true, seed), config.environment, /*greedy=*/true,
                   trainer.steps());
  };
  const auto tenth = [&] { return 10 * trainer.steps() / trainer.last_step(); };
  if (trainer.steps() == 0) record(config.seed);
  std::string last = "no new step";  // of a finished run that is resumed
  const auto update = [&] {
    const int64_t before = tenth();
    const rl::EnvReport report = trainer.step();
    session.log(report.steps, report.named());
    if (tenth() > before || trainer.done()) record(config.seed);
    if (trainer.done()) {  // two more of the policy that is kept
      record(config.seed + 1);
      record(config.seed + 2);
    }
    last = fmt::format("return {:.1f} over the last {} episodes", report.episode_return,
                       std::min<int64_t>(100, report.episodes));
    session.progress().update(report.steps,
                              fmt::format("{}  entropy {:.2f}  clipped {:.0f} %  {:.0f} steps/s", last, report.entropy,
                                          100 * (report.clip_low + report.clip_high), report.steps_per_second));
    return true;
  };
  const auto save = [&](int64_t) {
    if (session.folder()) trainer.save(checkpoint_path(session.path()), {{"kind", "env"}});
    session.saved();
  };
  const int64_t per_update = config.environments * config.rollout_steps;
  const bool complete = run_steps({.last = trainer.last_step() / per_update,
                                   .checkpoint_interval = o.save_every,
                                   .steps = [&] { return trainer.steps() / per_update; },
                                   .step = update,
                                   .on_checkpoint = save,
                                   .should_stop = session.should_stop()});
  session.end_progress();
  if (!complete) {
    save(0);
    return session.stopped(fmt::format("{} steps", trainer.steps()));
  }
  print_result(o, session, trainer, last);
  return 0;
}

}  // namespace

Command env_command() {
  const auto o = std::make_shared<EnvOptions>();
  const auto run = [o](Given& given) {
    read_files(given, o->run);
    o->env = o->recipe.make(o->env.environment);
    given.apply(recipe_fields(o->env));
    rl::check_config(o->env);
    // A resumed run has the micro-batches of its beginning: those of an old one are its mini-batches.
    if (const int ranks = rank_count(o->ranks); ranks > 1 && !given.has("micro-batch") && o->run.resume.empty()) {
      o->env.micro_batch = micro_batch_for(o->env, ranks);
    }
    o->run.config = given.yaml(joined({fields(*o), recipe_fields(o->env)}));
    return run_on_ranks(o->ranks, "cpu", o->run, [&](Comm& comm) { return run_env(*o, comm); });
  };
  std::string notes = "Environments:\n";
  for (const EnvironmentRow& row : environments()) notes += fmt::format("  {:<19}{}\n", row.name, row.about);
  return {.name = "env",
          .about = "a policy learns to act: CartPole, Pendulum, an arm",
          .fields = fields(*o),
          .run = run,
          .changes = {{"Options of the recipe", recipe_fields(o->env)}},
          .notes = notes,
          .usual = {"config", "name", "resume", "environment", "recipe", "total-steps", "lr", "seed", "ranks"}};
}

}  // namespace pg::tools

// pg env: a policy learns to act in an environment.
#include "tools/pg/env.h"

#include <numeric>
#include <optional>

#include "nn/progress.h"
#include "nn/run_dir.h"
#include "tensor/error.h"
#include "tensor/parallel.h"
#include "tools/pg/commands.h"

namespace pg::tools {

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

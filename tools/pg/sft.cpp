// pg sft: supervised fine-tuning of a GPT-2 on the answers of a task.
#include "rl/text/sft.h"

#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/interrupt.h"
#include "tools/pg/run/memory.h"
#include "tools/pg/run/process.h"
#include "tools/pg/run/progress.h"
#include "tools/pg/run/remark.h"
#include "tools/pg/run/run.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/text_rl.h"

namespace pg::tools {

int sft(const SftOptions& o) {
  std::optional<RunDir> opened = open_run(o.common.resume);
  const bool resumed = has_checkpoint(opened);
  start_threads(o.common.threads);
  const auto task = make_task(o.common);
  const auto policy = make_policy(o.common, *task);
  check_batch_memory(policy->config, o.batch, "a smaller --batch");
  TrainConfig config;
  config.max_steps = o.steps;
  config.schedule = {
      .kind = Schedule::Kind::linear, .lr = o.lr, .min_lr = o.min_lr, .warmup_steps = o.warmup, .decay_steps = o.steps};
  config.adamw = {0.9, 0.99, 1e-8, o.weight_decay};
  config.max_grad_norm = o.clip;
  config.eval_interval = o.common.eval_every;
  config.checkpoint_interval = o.common.save_every;
  config.seed = o.common.seed;
  Trainer trainer(*policy, config, rl::sft_batches(*task, o.batch));
  if (resumed) trainer.resume(load_checkpoint(checkpoint_path(o.common.resume)));
  RunDir run = start_run(std::move(opened), trainer.steps(), o.common.out,
                         o.common.name.empty() ? "sft_" + task->name() : o.common.name);
  run.save_config(o.common.config);
  remark(stdout, "{}: {}\n{} parameters; {}\n", task->name(), task->about(), count_parameters(*policy), run.path());

  const auto held_out = task->held_out(o.common.eval_problems);
  catch_interrupt();
  Progress progress(trainer.steps(), o.steps);
  std::string last;
  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    run.log(report.step, {{"loss", report.loss}, {"lr", report.lr}, {"grad_norm", report.grad_norm}});
    progress.update(report.step, fmt::format("loss {:.4f}{}", report.loss, last));
  };
  hooks.on_eval = [&](int64_t step) {
    const rl::Experience experience = rl::rollout(*policy, *task, held_out, {.samples = 1, .greedy = true});
    rl::Metrics metrics;
    rl::add_rollout_metrics(metrics, experience);
    run.log(step, {{"eval/reward", metrics.at("reward/mean")}, {"eval/solved", metrics.at("solved")}});
    last =
        fmt::format("  held-out reward {:.3f}, solved {:.1f} %", metrics.at("reward/mean"), 100 * metrics.at("solved"));
    policy->train();
  };
  const auto save = [&](int64_t) {
    trainer.save(checkpoint_path(run.path()), policy_texts(*task, "sft"));
    note_saved(run);
  };
  hooks.on_checkpoint = save;
  hooks.should_stop = interrupted;
  if (!trainer.run(hooks)) {
    save(trainer.steps());
    progress.print(fmt::format("stopped after step {}; go on with:  pg sft --resume {}", trainer.steps(), run.path()));
    return interrupt_status();
  }
  progress.print(fmt::format("after {} steps:{}\nnow let it learn from rewards:  pg rl --task {} --init {}", o.steps,
                             last, task->name(), run.path()));
  return 0;
}

}  // namespace pg::tools

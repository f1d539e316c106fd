// pg expert-iteration: samples, keeps responses that solve their problem, imitates them, repeats.
#include "nn/checkpoint.h"
#include "rl/text/imitation.h"
#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/model_options.h"
#include "tools/pg/run/process.h"
#include "tools/pg/run/progress.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/text_rl.h"

namespace pg::tools {

namespace {

struct ExpertIterationOptions {
  TextRlOptions common;
  int64_t iterations = 20, eval_every = 5, eval_problems = 200, save_every = 50;
  rl::ExpertIterationConfig config = {};
};

std::vector<Field> fields(ExpertIterationOptions& o) {
  return joined(
      joined(fields(o.common),
             {{"iterations", &o.iterations, "iterations of sampling and imitation", whole_from(1)},
              {"eval-every", &o.eval_every, "iterations between evaluations; 0: only at the end", whole_from(0)},
              {"eval-problems", &o.eval_problems, "problems of an evaluation", whole_from(1, 1000000)},
              {"save-every", &o.save_every, "iterations between checkpoints; 0: only at the end", whole_from(0)}}),
      rl::fields(o.config));
}

int expert_iteration(const ExpertIterationOptions& o) {
  std::optional<RunDir> opened = open_run(o.common.run.resume);
  const bool resumed = has_checkpoint(opened);
  start_threads(o.common.run.threads);
  const auto task = make_task(o.common);
  const auto policy = make_policy(o.common, *task, o.config.seed);
  check_batch_memory(policy->config, o.config.problems * o.config.samples, "fewer --problems or --samples");
  int64_t done = 0;
  if (resumed) {
    const Checkpoint checkpoint = load_checkpoint(checkpoint_path(o.common.run.resume));
    checkpoint.restore(*policy);
    done = checkpoint.state.step;
  }
  RunDir run = start_run(std::move(opened), done, o.common.run.out,
                         o.common.run.name.empty() ? "expert_iteration_" + task->name() : o.common.run.name);
  run.save_config(o.common.run.config);
  remark(stdout, "{}: {}\n{} parameters; {}\n", task->name(), task->about(), count_parameters(*policy), run.path());

  const auto problems = task->held_out(o.eval_problems);
  std::string held_out;
  const auto evaluate = [&](int64_t iteration) {
    rl::Metrics metrics;
    rl::add_rollout_metrics(metrics, rl::rollout(*policy, *task, problems, {.samples = 1, .greedy = true}));
    run.log(iteration, {{"eval/reward", metrics.at("reward/mean")}, {"eval/solved", metrics.at("solved")}});
    held_out =
        fmt::format("held-out reward {:.3f}, solved {:.1f} %", metrics.at("reward/mean"), 100 * metrics.at("solved"));
  };
  const auto save = [&](int64_t iteration) {
    std::map<std::string, std::string> texts = policy_texts(o.common, *task, "expert-iteration");
    texts["model"] = to_json(policy->config);
    save_checkpoint(checkpoint_path(run.path()), *policy, nullptr, {iteration, {}, std::move(texts)});
    note_saved(run);
  };
  const auto due = [&](int64_t i, int64_t interval) {
    return i == o.iterations || (interval > 0 && i % interval == 0);
  };

  catch_interrupt();
  Progress progress(done, o.iterations);
  if (done == 0) {
    evaluate(0);
    progress.print("at the start: " + held_out);
  }
  for (int64_t i = done + 1; i <= o.iterations; ++i) {
    const rl::Metrics metrics = rl::expert_iteration(*policy, *task, o.config, i);
    run.log(i, metrics.values());
    if (due(i, o.eval_every)) evaluate(i);
    progress.update(i, fmt::format("solved {:.1f} % of the samples, {} imitated  {}", 100 * metrics.at("solved"),
                                   metrics.at("kept"), held_out));
    if (due(i, o.save_every) || interrupted()) save(i);
    if (interrupted() && i < o.iterations) {
      return end_stopped(progress, run, "expert-iteration", fmt::format("iteration {}", i));
    }
  }
  progress.print(fmt::format("after {} iterations: {}   {}", o.iterations, held_out, run.path()));
  return 0;
}

}  // namespace

Command expert_iteration_command() {
  const auto o = std::make_shared<ExpertIterationOptions>();
  const auto run = [o](Given& given) {
    choose_task(o->common, given);
    o->common.run.config = given.yaml(joined(fields(*o), o->common.setup.fields));
    return expert_iteration(*o);
  };
  return text_command("expert-iteration", "a GPT-2 imitates those of its own answers that were right", fields(*o), run);
}

}  // namespace pg::tools

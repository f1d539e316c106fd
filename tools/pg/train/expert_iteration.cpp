// pg expert-iteration: samples, keeps responses that solve their problem, imitates them, repeats.
#include "nn/files/checkpoint.h"
#include "rl/text/imitation.h"
#include "rl/text/ranks.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/run/profile_report.h"
#include "tools/pg/run/ranks.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {

namespace {

struct ExpertIterationOptions {
  TextRlOptions common;
  RankOptions ranks;
  int64_t iterations = 20, eval_every = 5, eval_problems = 200, save_every = 50;
  rl::ExpertIterationConfig config = {};
  bool profile = false;
};

std::vector<Field> fields(ExpertIterationOptions& o) {
  return joined(
      {fields(o.common),
       fields(o.ranks),
       adapter_fields(o.common),
       {profile_field(o.profile)},
       titled(
           "Training",
           joined({{{"iterations", &o.iterations, "iterations of sampling and imitation", whole_from(1)},
                    {"eval-every", &o.eval_every, "iterations between evaluations; 0: only at the end", whole_from(0)},
                    {"eval-problems", &o.eval_problems, "problems of an evaluation", whole_from(1, 1000000)},
                    {"save-every", &o.save_every, "iterations between checkpoints; 0: only at the end", whole_from(0)}},
                   annotated(rl::fields(o.config), {{"micro-batch", kPartForEachRank}})}))});
}

int expert_iteration(const ExpertIterationOptions& o, Comm& comm) {
  OpenedRun opened = open_run(comm, o.common.run.resume);
  const bool resumed = opened.has_checkpoint;
  start_threads(o.common.run.threads, comm);
  const auto task = make_task(o.common);
  const auto policy = make_policy(o.common, *task, o.config.seed, comm.device());
  const int64_t responses = o.config.problems * o.config.samples, most = o.config.max_rows;
  check_rollout_memory(used_config(*policy, *task), most > 0 ? std::min(most, responses) : responses,
                       "a smaller --max-rows, or fewer --problems or --samples");
  int64_t done = 0;
  if (resumed) {
    const Checkpoint checkpoint = load_checkpoint(checkpoint_path(o.common.run.resume));
    checkpoint.restore(*policy);
    done = checkpoint.state.step;
  }
  std::optional<RunDir> run =  // of rank 0
      start_run(comm, std::move(opened.folder), done, o.common.run.out,
                o.common.run.name.empty() ? "expert_iteration_" + task->name() : o.common.run.name);
  const std::string path = run ? run->path() : "";
  if (run) run->save_config(o.common.run.config);
  remark(stdout, "{}: {}\n{}; {}\n", task->name(), task->about(), parameter_text(*policy, o.common.init), path);

  const auto problems = task->held_out(o.eval_problems);
  std::string held_out;
  const auto evaluate = [&](int64_t iteration) {
    rl::Experience responses;
    const rl::Metrics metrics = rl::evaluate_on_ranks(comm, *policy, *task, problems, {}, &responses);
    if (run) {
      run->log(iteration, metrics.values());
      append_samples(*run, *task, responses, iteration, kHeldOut);
    }
    held_out = fmt::format("held-out reward {:.3f}, solved {:.1f} %", metrics.at("eval/reward"),
                           100 * metrics.at("eval/solved"));
  };
  const auto save = [&](int64_t iteration) {
    if (!run) return;
    std::map<std::string, std::string> texts = policy_texts(o.common, *task, "expert-iteration");
    texts["model"] = to_json(policy->config);
    save_checkpoint(checkpoint_path(path), *policy, nullptr, {iteration, {}, std::move(texts)});
    note_saved(*run);
  };
  const auto due = [&](int64_t i, int64_t interval) {
    return i == o.iterations || (interval > 0 && i % interval == 0);
  };

  rl::ExpertIterationConfig config = o.config;
  config.rates = measured_rates(o.profile, policy->config.dtype, comm.device());
  const ProfileReport profile(o.profile);
  SpeedReport speed;
  catch_interrupt();
  Progress progress(done, o.iterations);
  if (done == 0) {
    evaluate(0);
    progress.print("at the start: " + held_out);
  }
  const auto stop_anywhere = [&] { return interrupted_anywhere(comm); };
  for (int64_t i = done + 1; i <= o.iterations; ++i) {
    const rl::Metrics metrics = rl::expert_iteration(*policy, *task, config, i, &comm, interrupted, stop_anywhere);
    if (metrics.values().empty()) {
      save(i - 1);
      return run ? end_stopped(progress, *run, "expert-iteration", fmt::format("iteration {}", i - 1))
                 : interrupt_status();
    }
    speed.add(metrics);
    if (run) run->log(i, metrics.values());
    if (due(i, o.eval_every)) evaluate(i);
    progress.update(i, fmt::format("solved {:.1f} % of the samples, {} imitated  {}", 100 * metrics.at("solved"),
                                   metrics.at("kept"), held_out));
    if (due(i, o.save_every)) save(i);
  }
  profile.print(stdout, {});
  speed.print(stdout, config.rates);
  progress.print(fmt::format("after {} iterations: {}   {}", o.iterations, held_out, path));
  return 0;
}

}  // namespace

Command expert_iteration_command() {
  const auto o = std::make_shared<ExpertIterationOptions>();
  const auto run = [o](Given& given) {
    choose_task(o->common, given);
    // A resumed run has the micro-batches of its beginning: those of an old one are its batches.
    if (o->common.run.resume.empty()) settle_micro_batch(o->config.micro_batch, o->config.batch, o->ranks, given);
    o->common.run.config = given.yaml(joined({fields(*o), o->common.setup.fields}));
    return run_on_ranks(o->ranks, o->common.device, o->common.run,
                        [&](Comm& comm) { return expert_iteration(*o, comm); });
  };
  Command command =
      text_command("expert-iteration", "a GPT-2 imitates those of its own answers that were right", fields(*o), run);
  command.usual = {"config",   "name",    "resume",      "device", "task", "init", "file",      "iterations",
                   "problems", "samples", "temperature", "batch",  "lr",   "seed", "lora-rank", "ranks"};
  return command;
}

}  // namespace pg::tools

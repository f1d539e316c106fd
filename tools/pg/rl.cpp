// pg rl: trains a GPT-2 on a task by reinforcement learning.
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>

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
namespace {

// A table of the first responses of a step with their rewards and reward parts.
std::string sample_table(const TextTask& task, const rl::Experience& experience, int64_t step, size_t count) {
  std::string table = fmt::format("samples of step {}\n", step);
  for (size_t i = 0; i < std::min(count, experience.responses.size()); ++i) {
    const rl::Response& r = experience.responses[i];
    std::vector<std::string> parts;
    for (const auto& [name, value] : r.score.parts) parts.push_back(fmt::format("{} {:.3g}", name, value));
    table += fmt::format("  {:>6.3f}  {}  {} -> {}{}   ({})\n", r.score.reward, r.score.solved ? "solved" : "      ",
                         task.text(r.prompt), task.text(r.tokens), r.finished ? "" : " ...", fmt::join(parts, ", "));
  }
  return table;
}

void append_samples(const std::string& path, const TextTask& task, const rl::Experience& experience, int64_t step) {
  std::ofstream out(path, std::ios::app);
  for (size_t i = 0; i < std::min<size_t>(8, experience.responses.size()); ++i) {
    const rl::Response& r = experience.responses[i];
    nlohmann::ordered_json line = {{"step", step},
                                   {"prompt", task.text(r.prompt)},
                                   {"response", task.text(r.tokens)},
                                   {"reward", r.score.reward},
                                   {"solved", r.score.solved},
                                   {"finished", r.finished}};
    for (const auto& [name, value] : r.score.parts) line["parts"][name] = value;
    out << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  }
  check(bool(out), "{}: cannot write", path);
}

void imitate(const RlOptions& o, const TextTask& task, Gpt2& policy) {
  TrainConfig config;
  config.max_steps = o.sft_steps;
  config.schedule = {.kind = Schedule::Kind::constant, .lr = o.sft_lr};
  config.adamw = {0.9, 0.99, 1e-8, 0};
  config.seed = o.common.seed;
  Trainer trainer(policy, config, rl::sft_batches(task, o.sft_batch));
  const auto held_out = task.held_out(o.common.eval_problems);
  Progress progress(0, o.sft_steps);
  while (trainer.steps() < o.sft_steps) {
    const StepReport report = trainer.step();
    progress.update(report.step, fmt::format("imitating the answers: loss {:.4f}", report.loss));
    if (o.sft_until <= 0 || report.step % 20 != 0) continue;
    rl::Metrics metrics;
    rl::add_rollout_metrics(metrics, rl::rollout(policy, task, held_out, {.samples = 1, .greedy = true}));
    policy.train();
    if (metrics.at("reward/mean") >= o.sft_until) return;
  }
}

std::string health_line(const std::vector<rl::HealthCheck>& checks) {
  std::string line = "health checks:", wrong;
  for (const rl::HealthCheck& check : checks) {
    line += fmt::format(" [{}] {}", check.ok ? "ok" : "!!", check.name);
    if (!check.ok) wrong += fmt::format("\n  !! {}: {}", check.name, check.why);
  }
  return line + wrong;
}

}  // namespace

int run_rl(const RlOptions& o) {
  if (!o.explain.empty()) {
    RlOptions named = o;
    named.algorithm = o.explain;
    fmt::print("{}", rl::explain(algorithm_of(named), o.rl.batch));
    return 0;
  }
  std::optional<RunDir> opened = open_run(o.common.resume);
  const bool resumed = has_checkpoint(opened);
  start_threads(o.common.threads);
  const auto task = make_task(o.common);
  rl::RlConfig config = o.rl;
  config.algorithm = algorithm_of(o);
  if (config.exhaustive) config.batch.samples = task->vocab_size();
  if (o.schedule == "linear") config.schedule.kind = Schedule::Kind::linear;
  if (o.schedule == "cosine") config.schedule.kind = Schedule::Kind::cosine;
  config.schedule.decay_steps = config.steps;
  config.eval_interval = o.common.eval_every;
  config.eval_problems = o.common.eval_problems;
  config.checkpoint_interval = o.common.save_every;
  config.seed = o.common.seed;
  rl::check_config(config);
  check(!config.algorithm.reference.is_given || !o.reference_model.empty(),
        "pg rl: --reference given needs --reference-model RUN");
  const auto policy = make_policy(o.common, *task);
  const int64_t responses = config.batch.prompts * config.batch.samples;
  if (o.sft_steps > 0) check_batch_memory(policy->config, o.sft_batch, "a smaller --sft-batch");
  // At least the keys that a rollout keeps.
  check_batch_memory(policy->config, config.max_rows > 0 ? std::min(config.max_rows, responses) : responses,
                     "fewer --prompts or --samples, or a smaller --max-rows");
  check_memory(1e3 * static_cast<double>(responses), fmt::format("a step of {} responses", responses),
               "fewer --prompts or --samples");
  const std::string note = task->held_out_note().empty() ? "" : "\n" + task->held_out_note();
  remark(stdout, "{}: {}{}\n{} parameters; {} x {} responses a step, {}\n", task->name(), task->about(), note,
         count_parameters(*policy), config.batch.prompts, config.batch.samples, config.algorithm.name);
  RewardModel reward_model;
  rl::Judge judge;
  if (!o.reward_model.empty()) {
    reward_model = load_reward_model(o.reward_model, *task, parse_device(o.common.device));
    judge = *reward_model.judge;
  }
  std::unique_ptr<Gpt2> reference;
  if (!o.reference_model.empty()) {
    reference = load_policy(o.reference_model, *task, parse_device(o.common.device), o.common.dtype);
  }
  if (!resumed && o.sft_steps > 0) imitate(o, *task, *policy);
  rl::RlTrainer trainer(*policy, *task, config, judge, reference.get());
  if (resumed) trainer.resume(load_checkpoint(checkpoint_path(o.common.resume)));
  RunDir run = start_run(std::move(opened), trainer.steps(), o.common.out,
                         o.common.name.empty() ? o.algorithm + "_" + task->name() : o.common.name);
  run.save_config(o.common.config);

  catch_interrupt();
  Progress progress(trainer.steps(), config.steps);
  std::string held_out;
  rl::RlHooks hooks;
  hooks.on_step = [&](int64_t step, const rl::Metrics& metrics) {
    run.log(step, metrics.values());
    progress.update(step, fmt::format("reward {:.3f}  grad norm {:.2f}  entropy {:.2f}{}", metrics.at("reward/mean"),
                                      metrics.at("grad_norm"), metrics.at("entropy"), held_out));
  };
  hooks.on_eval = [&](int64_t step, const rl::Metrics& metrics) {
    run.log(step, metrics.values());
    held_out =
        fmt::format("  held-out {:.3f}, solved {:.1f} %", metrics.at("eval/reward"), 100 * metrics.at("eval/solved"));
    if (step == 0) progress.print(fmt::format("at the start:{}", held_out));
  };
  hooks.on_samples = [&](int64_t step, const rl::Experience& experience, const rl::Batch&) {
    append_samples(run.file("samples.jsonl"), *task, experience, step);
    if (step == config.steps || (o.show_every > 0 && step % o.show_every == 0)) {
      progress.print(sample_table(*task, experience, step, 5));
    }
  };
  const auto save = [&](int64_t) {
    trainer.save(checkpoint_path(run.path()), policy_texts(*task, "rl"));
    note_saved(run);
  };
  hooks.on_checkpoint = save;
  hooks.should_stop = interrupted;
  if (!trainer.run(hooks)) {
    save(trainer.steps());
    progress.print(fmt::format("stopped after step {}; go on with:  pg rl --resume {}", trainer.steps(), run.path()));
    return interrupt_status();
  }
  progress.print(health_line(trainer.health_checks()));
  progress.print(fmt::format("after {} steps:{}   {}", config.steps, held_out, run.path()));
  return 0;
}

}  // namespace pg::tools

// pg rl: trains a GPT-2 on a task by reinforcement learning.
#include <fmt/ranges.h>

#include "rl/text/imitation.h"
#include "rl/text/models.h"
#include "rl/text/trainer.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/run/profile_report.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/run/session.h"
#include "tools/pg/run/step_record.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {
namespace {

struct RlOptions {
  TextRlOptions common;
  RankOptions ranks;
  std::string algorithm = "grpo", explain;
  std::string reward_model;     // a run of pg reward-model that gives the rewards instead of the task
  std::string reference_model;  // a run whose model is the reference
  rl::RlConfig rl;
  int64_t show_every = 0;   // steps between tables of samples; 0: only after the last step
  int64_t record_step = 0;  // the step to record for the page microscope.html; 0: none
  // Imitation of the answers before: none if max_steps is 0.
  TrainConfig sft = {.max_steps = 0, .schedule = {.kind = Schedule::Kind::constant}, .adamw = {0.9, 0.99, 1e-8, 0}};
  int64_t sft_batch = 128;
  double sft_until = 0;
  bool profile = false;
};

// All but the fields of the algorithm.
std::vector<Field> fields(RlOptions& o) {
  const std::vector<std::string> algorithms = names_of(rl::algorithms());
  const std::vector<Field> algorithm = {
      {"algorithm", one_of(o.algorithm, algorithms), "a row of the table of algorithms"},
      not_in_files({"explain", one_of(o.explain, algorithms),
                    "print an algorithm's formula and conventions, and do nothing else"}),
      {"reward-model", &o.reward_model, "a run of pg reward-model: its scores are the rewards"},
      {"reference-model", &o.reference_model,
       "a run or checkpoint whose model is the reference of the KL (--reference given)"}};
  const std::vector<Field> imitation = {
      {"sft-steps", &o.sft.max_steps, "steps of imitation before; 0: none", whole_from(0)},
      {"sft-batch", &o.sft_batch, "problems per such step", whole_from(1, 1000000)},
      {"sft-lr", &o.sft.schedule.lr, "their learning rate", kNotNegative},
      {"sft-until", &o.sft_until,
       "held-out reward that ends the imitation, measured every 20 steps; 0: it ends after all steps", kNotNegative}};
  const Field show = {"show-every", &o.show_every, "steps between tables of samples; 0: only after the last",
                      whole_from(0)};
  const Field record =
      not_in_files({"record-step", &o.record_step,
                    "a step to write to RUN/step_N.json, which microscope.html of make web opens", whole_from(0)});
  const std::vector<Field> rl =
      annotated(rl::fields(o.rl), {{"lr", kPretrainedLr},
                                   {"prompts", "unless given, 8 for a pretrained model"},
                                   {"min-lr", "unless given, a tenth of --lr"},
                                   {"micro-batch", "with --ranks and unless given, so few that each rank has some"}});
  return joined({fields(o.common),
                 {profile_field(o.profile)},
                 adapter_fields(o.common),
                 titled("Algorithm", algorithm),
                 titled("Training", joined({{show, record}, rl})),
                 titled("Imitation before", imitation),
                 fields(o.ranks),
                 {zero_field(o.ranks, 2)}});
}

// Error for an option that is given and changes nothing. The config.yaml of a resumed run is left alone.
void check_used(const RlOptions& o, const Given& given) {
  const bool resumed = !o.common.run.resume.empty();
  for (const rl::UnusedField& unused : rl::unused_fields(o.rl)) {
    const bool by_model = unused.name == rl::ReferenceKind::axis && !o.reference_model.empty();
    const std::string option = by_model ? "reference-model" : unused.name;
    check(!(resumed ? given.on_command_line(option) : given.has(option)), "pg rl: --{} has no effect: {}", option,
          unused.why);
  }
}

// The preset with the options that change it.
void choose_algorithm(RlOptions& o, const Given& given) {
  if (!o.explain.empty()) o.algorithm = o.explain;
  rl::Algorithm& a = o.rl.algorithm = rl::algorithm(o.algorithm);
  given.apply(rl::fields(a));
  if (!o.reference_model.empty() && !given.has("reference")) a.reference = "given";
  check_used(o, given);
  // Without a KL the preset's reference would only cost a forward pass. An old run that is resumed may have one.
  if (!a.kl.in_reward && !a.kl.in_loss && o.common.run.resume.empty()) a.reference = "none";
}

// Every option in effect, as YAML. It leaves out what has no effect, so that it can be given again.
std::string config_of(RlOptions& o, const Given& given) {
  std::vector<Field> all = joined({fields(o), o.common.setup.fields, rl::fields(o.rl.algorithm)});
  for (const rl::UnusedField& unused : rl::unused_fields(o.rl))
    std::erase_if(all, [&](const Field& field) { return field.name == unused.name; });
  return given.yaml(all);
}

// A table of the first responses of a step with their rewards and reward parts.
std::string sample_table(const TextTask& task, const rl::Experience& experience, int64_t step, size_t count) {
  std::string table = fmt::format("samples of step {}\n", step);
  for (size_t i = 0; i < std::min(count, experience.responses.size()); ++i) {
    const rl::Response& r = experience.responses[i];
    std::vector<std::string> parts;
    for (const auto& [name, value] : r.score.parts) parts.push_back(fmt::format("{} {:.3g}", name, value));
    table += fmt::format("  {:>6.3f}  {}  {} -> {}{}   ({})\n", r.score.reward, r.score.solved ? "solved" : "      ",
                         task.shown(r.prompt), task.text(r.tokens), r.finished ? "" : " ...", fmt::join(parts, ", "));
  }
  return table;
}

void imitate(const RlOptions& o, const TextTask& task, Transformer& policy) {
  TrainConfig config = o.sft;
  config.seed = o.rl.seed;
  Trainer trainer(policy, config, rl::sft_batches(task, o.sft_batch));
  const auto held_out = task.held_out(o.rl.eval_problems);
  Progress progress(0, config.max_steps);
  while (trainer.steps() < config.max_steps) {
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

// Micro-batches of equal size, as many for each rank, of at most the default size.
int64_t micro_batch_for(const rl::BatchShape& b, int ranks) {
  const auto divided = [](int64_t x, int64_t by) { return (x + by - 1) / by; };
  const int64_t rows = divided(b.prompts * b.samples, b.mini_batches), largest = rl::BatchShape{}.micro_batch;
  const int64_t rounds = divided(rows, ranks * largest);
  return divided(rows, ranks * rounds);
}

// For the estimate of memory. Prompts that responses share are counted with each of them.
RunShape shape_of(const rl::RlConfig& c, const TransformerConfig& used, int ranks) {
  const int64_t responses = c.batch.prompts * c.batch.samples,
                mini = std::max<int64_t>(1, responses / c.batch.mini_batches);
  const int64_t micro = c.batch.micro_batch > 0 ? std::min(c.batch.micro_batch, mini) : mini;
  const int64_t here = ranks_share(std::max(responses, c.eval_problems), ranks);
  return {.model = used,
          .trained = c.algorithm.baseline.needs.critic && !c.shared_critic ? 2 : 1,
          .references = c.algorithm.reference.make ? 1 : 0,
          .ranks = ranks,
          .zero = c.zero,
          .rows = micro,
          .columns = used.block_size,
          .micro_batches = ranks_share(ranks_share(mini, micro), ranks),
          .logit_rows = rl::logit_rows(used.vocab_size),
          .cache_rows = c.max_rows > 0 ? std::min(c.max_rows, here) : here,
          .cache_columns = used.block_size};
}

// The configuration with what the options of the command add. Error if they contradict one another.
rl::RlConfig config_of_run(const RlOptions& o, const TextTask& task) {
  rl::RlConfig config = o.rl;
  config.zero = o.ranks.zero;
  if (config.exhaustive) config.batch.samples = task.vocab_size();
  rl::check_config(config);
  check(!config.algorithm.reference.is_given || !o.reference_model.empty(),
        "pg rl: --reference given needs --reference-model RUN");
  return config;
}

// Says what is trained on what, and how much memory it takes.
void announce(const RlOptions& o, const rl::RlConfig& config, Transformer& policy, const TextTask& task, Comm& comm) {
  const TransformerConfig used = used_config(policy, task);
  const int64_t responses = config.batch.prompts * config.batch.samples;
  if (o.sft.max_steps > 0) check_batch_memory(used, o.sft_batch, "a smaller --sft-batch");
  check_rollout_memory(used, config.max_rows > 0 ? std::min(config.max_rows, responses) : responses,
                       "fewer --prompts or --samples, or a smaller --max-rows");
  check_memory(1e3 * static_cast<double>(responses), fmt::format("a step of {} responses", responses),
               "fewer --prompts or --samples");
  const std::string note = task.held_out_note().empty() ? "" : "\n" + task.held_out_note();
  remark(stdout, "{}: {}{}\n{}; {} x {} responses a step, {}\n", task.name(), task.about(), note,
         parameter_text(policy, o.common.init), config.batch.prompts, config.batch.samples, config.algorithm.name);
  print_memory(stdout, shape_of(config, used, comm.size()), comm.device(), weight_bytes(policy),
               "a smaller --micro-batch or --max-rows, fewer --samples, --lora-rank, or --dtype bf16");
}

// Logs, samples, progress and checkpoints. `held_out` is the last evaluation as text; `speed` has every step.
rl::RlHooks hooks_of(const RlOptions& o, const rl::RlConfig& config, RunSession& session, rl::RlTrainer& trainer,
                     const TextTask& task, std::string& held_out, SpeedReport& speed) {
  rl::RlHooks hooks;
  hooks.on_step = [&](int64_t step, const rl::Metrics& metrics) {
    speed.add(metrics);
    session.log(step, metrics.values());
    if (session.folder()) append_health(*session.folder(), step, trainer.health_checks());
    session.progress().update(
        step, fmt::format("reward {:.3f}  grad norm {:.2f}  entropy {:.2f}{}", metrics.at("reward/mean"),
                          metrics.at("grad_norm"), metrics.at("entropy"), held_out));
  };
  hooks.on_eval = [&](int64_t step, const rl::Metrics& metrics) {
    session.log_evaluation(step, metrics.values());
    held_out =
        fmt::format("  held-out {:.3f}, solved {:.1f} %", metrics.at("eval/reward"), 100 * metrics.at("eval/solved"));
    if (step == 0) session.progress().print(fmt::format("at the start:{}", held_out));
  };
  hooks.on_held_out = [&](int64_t step, const rl::Experience& experience) {
    if (session.folder() && session.is_new(step)) append_samples(*session.folder(), task, experience, step, kHeldOut);
  };
  hooks.on_samples = [&](int64_t step, const rl::Experience& experience, const rl::Batch& batch) {
    if (session.folder()) append_samples(*session.folder(), task, experience, step, kTraining, &batch);
    if (step == config.steps || (o.show_every > 0 && step % o.show_every == 0)) {
      session.progress().print(sample_table(task, experience, step, 5));
    }
  };
  hooks.on_checkpoint = [&](int64_t) {
    if (session.folder() || config.zero > 0) {
      trainer.save(checkpoint_path(session.path()), policy_texts(o.common, task, "rl"));
    }
    session.saved();
  };
  hooks.should_stop = session.should_stop();
  hooks.should_stop_here = interrupted;
  return hooks;
}

int run_rl(const RlOptions& o, Comm& comm) {
  RunSession session(comm, o.common.run, "rl");
  const auto task = make_task(o.common);
  rl::RlConfig config = config_of_run(o, *task);
  const auto policy = make_policy(o.common, *task, config.seed, comm.device());
  announce(o, config, *policy, *task, comm);
  std::optional<StepRecorder> recorder;
  if (o.record_step > 0) recorder.emplace(o.record_step, config, *task, *policy);
  RewardModel reward_model;
  rl::Judge judge;
  if (!o.reward_model.empty()) {
    reward_model = load_reward_model(o.reward_model, *task, comm.device());
    judge = *reward_model.judge;
  }
  std::unique_ptr<Transformer> reference;
  if (!o.reference_model.empty()) {
    reference = load_policy(o.reference_model, *task, comm.device(), o.common.dtype);
  }
  if (!session.resumed() && o.sft.max_steps > 0) imitate(o, *task, *policy);
  config.rates = measured_rates(o.profile, policy->config.dtype, comm.device());
  rl::RlTrainer trainer(*policy, *task, config, judge, reference.get(), &comm);
  if (session.resumed()) trainer.resume(load_checkpoint(session.resumed_checkpoint()));
  check(!recorder || o.record_step > trainer.steps(), "pg rl: --record-step {}: the run has already done {} steps",
        o.record_step, trainer.steps());
  session.begin(trainer.steps(), config.steps, o.algorithm + "_" + task->name(), config.zero);

  std::string held_out;
  SpeedReport speed;
  rl::RlHooks hooks = hooks_of(o, config, session, trainer, *task, held_out, speed);
  const std::string record = fmt::format("{}/step_{}.json", session.path(), o.record_step);
  if (recorder && session.folder()) hooks = recorder->added_to(std::move(hooks), record);
  const ProfileReport profile(o.profile);
  const bool complete = trainer.run(hooks);
  const rl::RlMemory memory = trainer.memory();
  session.end_progress();
  profile.print(stdout, memory.step, {{"reference", memory.reference}, {"rollout", memory.rollout}});
  speed.print(stdout, config.rates);
  if (!complete) {
    hooks.on_checkpoint(trainer.steps());
    return session.stopped(fmt::format("step {}", trainer.steps()));
  }
  session.progress().print(health_line(trainer.health_checks()));
  if (recorder) session.progress().print(fmt::format("step {}: {}", o.record_step, record));
  session.progress().print(fmt::format("after {} steps:{}   {}", config.steps, held_out, session.path()));
  return 0;
}

}  // namespace

Command rl_command() {
  const auto o = std::make_shared<RlOptions>();
  const auto run = [o](Given& given) {
    choose_task(o->common, given);
    choose_algorithm(*o, given);
    if (!o->explain.empty()) {
      fmt::print("{}", rl::explain(o->rl.algorithm, o->rl.batch));
      return 0;
    }
    const std::string reference = find_field(rl::fields(o->rl.algorithm), "pg rl", "reference").text();
    check((reference == "given") == !o->reference_model.empty(),
          "pg rl: --reference given and --reference-model RUN go together; --reference is {}, --reference-model is {}",
          reference, o->reference_model.empty() ? "missing" : o->reference_model);
    if (!o->common.init.empty() && chat_format_of(o->common.init)) {
      settle_pretrained_lr(o->rl.schedule, o->common, given);
      if (!given.has("prompts")) o->rl.batch.prompts = 8;
    }
    settle(o->rl.schedule, o->rl.steps, given);
    if (const int ranks = rank_count(o->ranks); ranks > 1 && !given.has("micro-batch")) {
      rl::BatchShape batch = o->rl.batch;
      if (o->rl.exhaustive) batch.samples = make_task(o->common)->vocab_size();
      o->rl.batch.micro_batch = micro_batch_for(batch, ranks);
    }
    o->common.run.config = config_of(*o, given);
    return run_on_ranks(o->ranks, o->common.device, o->common.run, [&](Comm& comm) { return run_rl(*o, comm); });
  };
  Command command = text_command("rl", "a GPT-2 learns a task from rewards", fields(*o), run);
  command.changes.push_back({"Choices of the algorithm", rl::fields(o->rl.algorithm)});
  command.usual = {"config",  "name",  "resume", "device",      "task",     "init", "file",      "algorithm", "prompts",
                   "samples", "steps", "lr",     "temperature", "response", "seed", "lora-rank", "ranks"};
  return command;
}

}  // namespace pg::tools

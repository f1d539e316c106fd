// pg sft: supervised fine-tuning on the answers of a task, or on a file.
#include "rl/text/imitation.h"
#include "rl/text/ranks.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/process.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/profile_report.h"
#include "tools/pg/run/ranks.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/train/sft_data.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {

namespace {

struct SftOptions {
  TextRlOptions common;
  RankOptions ranks;
  SftDataOptions data;
  TrainConfig train = {.max_steps = 150,
                       .schedule = {.kind = Schedule::Kind::linear, .min_lr = 1e-3},
                       .adamw = {0.9, 0.99, 1e-8, 0},
                       .eval_interval = 0,
                       .checkpoint_interval = 50,
                       .seed = 1};
  int64_t batch = 128, eval_problems = 200;
  bool profile = false;
};

std::vector<Field> fields(SftOptions& o) {
  const std::vector<Field> train = {
      {"batch", &o.batch, "problems per batch; with --data and unless given, 8 texts", whole_from(1, 1000000)},
      {"normalizer", &o.train.normalizer,
       "N: the loss of a response is the sum over its tokens divided by N; 0: the mean over all tokens of a step",
       kNotNegative},
      {"eval-problems", &o.eval_problems, "problems of an evaluation", whole_from(1, 1000000)}};
  return joined(
      {fields(o.common),
       {profile_field(o.profile)},
       adapter_fields(o.common),
       titled("Data", fields(o.data)),
       titled("Training",
              joined({train, annotated(fields(o.train), {{"lr", fmt::format("with --data {}", kPretrainedLr)},
                                                         {"min-lr", "unless given, at most --lr, and 0 with --data"},
                                                         {"accumulate", kOneForEachRank}})})),
       fields(o.ranks),
       {zero_field(o.ranks)}});
}

int sft(const SftOptions& o, Comm& comm) {
  OpenedRun opened = open_run(comm, o.common.run.resume);
  const bool resumed = opened.has_checkpoint;
  start_threads(o.common.run.threads, comm);
  const auto task = make_task(o.common);
  const auto policy = make_policy(o.common, *task, o.train.seed, comm.device());
  check_batch_memory(used_config(*policy, *task), o.batch, "a smaller --batch");
  TrainConfig train = o.train;
  train.zero = o.ranks.zero;
  const TransformerConfig used = used_config(*policy, *task);
  print_memory(stdout,
               {.model = used,
                .trained = 1,
                .ranks = comm.size(),
                .zero = train.zero,
                .rows = o.batch,
                .columns = used.block_size,
                .micro_batches = ranks_share(train.micro_batches, comm.size()),
                .cache_rows = ranks_share(o.eval_problems, comm.size()),
                .cache_columns = used.block_size},
               comm.device(), weight_bytes(*policy),
               "a smaller --batch with a larger --accumulate, fewer --eval-problems, --lora-rank, or --dtype bf16");
  Trainer trainer(*policy, train, rl::sft_batches(*task, o.batch), &comm);
  if (resumed) trainer.resume(load_checkpoint(checkpoint_path(o.common.run.resume)));
  const int64_t start = trainer.steps();
  std::optional<RunDir> run =  // of rank 0
      start_run(comm, std::move(opened.folder), start, o.common.run.out,
                o.common.run.name.empty() ? "sft_" + task->name() : o.common.run.name);
  const std::string path = path_on_ranks(comm, run, train.zero);
  if (run) run->save_config(o.common.run.config);
  remark(stdout, "{}: {}\n{}; {}\n", task->name(), task->about(), parameter_text(*policy, o.common.init), path);

  const auto held_out = task->held_out(o.eval_problems);
  catch_interrupt();
  Progress progress(start, o.train.max_steps);
  std::string last;
  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    if (run) run->log(report.step, {{"loss", report.loss}, {"lr", report.lr}, {"grad_norm", report.grad_norm}});
    progress.update(report.step, fmt::format("loss {:.4f}{}", report.loss, last));
  };
  hooks.on_eval = [&](int64_t step) {
    rl::Metrics metrics;
    rl::Experience responses;
    trainer.with_all_weights([&] { metrics = rl::evaluate_on_ranks(comm, *policy, *task, held_out, {}, &responses); });
    if (run && (step > start || start == 0)) {  // else a finished run, already logged
      run->log(step, metrics.values());
      append_samples(*run, *task, responses, step, kHeldOut);
    }
    last = fmt::format("  held-out reward {:.3f}, solved {:.1f} %", metrics.at("eval/reward"),
                       100 * metrics.at("eval/solved"));
    policy->train();
  };
  const auto save = [&](int64_t) {
    trainer.save(checkpoint_path(path), policy_texts(o.common, *task, "sft"));
    if (run) note_saved(*run);
  };
  hooks.on_checkpoint = save;
  hooks.should_stop = [&] { return interrupted_anywhere(comm); };
  const ProfileReport profile(o.profile);
  const bool complete = trainer.run(hooks);
  profile.print(stdout, trainer.memory());
  if (!complete) {
    save(trainer.steps());
    return run ? end_stopped(progress, *run, "sft", fmt::format("step {}", trainer.steps())) : interrupt_status();
  }
  progress.print(fmt::format("after {} steps:{}\nnow let it learn from rewards:  pg rl --task {} --init {}",
                             o.train.max_steps, last, task->name(), shell_word(path)));
  return 0;
}

}  // namespace

// With --data. A pretrained model wants a lower learning rate and smaller batches than a small one on a task.
int sft_on_file(SftOptions& o, Given& given) {
  const auto unless_given = [&](const char* name, auto& value, auto usual) {
    if (!given.has(name)) value = usual;
  };
  // The config.yaml of an older run names a task, "digits", that was not used.
  const bool evaluated = given.on_command_line("task") ||
                         (given.has("task") && find_row(text_tasks(), "--task", o.common.task).setup().puzzles);
  if (evaluated) choose_task(o.common, given);
  check(!o.common.init.empty() || !o.common.run.resume.empty(),
        "sft: --data needs a model to begin with: --init smollm2, a Hugging Face folder, a GGUF file or a run");
  settle_pretrained_lr(o.train.schedule, o.common, given);
  unless_given("min-lr", o.train.schedule.min_lr, 0.0);
  unless_given("batch", o.batch, int64_t{8});
  o.train.schedule.decay_steps = o.train.max_steps;
  settle_batches(o.train, o.ranks, given);
  o.train.zero = o.ranks.zero;
  const auto config = [&](const TrainConfig& train) {
    o.train = train;
    std::vector<Field> all = joined({fields(o), o.common.setup.fields});
    if (!evaluated) std::erase_if(all, [](const Field& f) { return f.name == "task"; });  // --resume has no task either
    return given.yaml(all);
  };
  o.common.run.config = config(o.train);
  return run_on_ranks(o.ranks, o.common.device, o.common.run, [&](Comm& comm) {
    return sft_on_data(o.data,
                       {.run = o.common.run,
                        .init = o.common.init,
                        .adapter = o.common.adapter,
                        .dtype = o.common.dtype,
                        .lora = o.common.lora,
                        .train = o.train,
                        .batch = o.batch,
                        .profile = o.profile,
                        .steps_given = given.has("steps"),
                        .config = config,
                        .chat_template = o.common.chat_template,
                        .chat = o.common.chat,
                        .evaluation = evaluated ? &o.common : nullptr,
                        .eval_problems = o.eval_problems},
                       comm);
  });
}

Command sft_command() {
  const auto o = std::make_shared<SftOptions>();
  const auto run = [o](Given& given) {
    read_files(given, o->common.run);
    if (!o->data.file.empty()) return sft_on_file(*o, given);
    choose_task(o->common, given);
    Schedule& schedule = o->train.schedule;
    if (!given.has("min-lr")) schedule.min_lr = std::min(schedule.min_lr, schedule.lr);
    schedule.decay_steps = o->train.max_steps;
    check_schedule(given.command(), schedule, o->train.max_steps);
    settle_batches(o->train, o->ranks, given);
    o->common.run.config = given.yaml(joined({fields(*o), o->common.setup.fields}));
    return run_on_ranks(o->ranks, o->common.device, o->common.run, [&](Comm& comm) { return sft(*o, comm); });
  };
  Command command = text_command(
      "sft", "supervised fine-tuning: a model imitates the answers of a task, or those of a file", fields(*o), run);
  command.usual = {"config",     "name",  "resume", "device", "task", "init", "data",      "epochs",
                   "max-length", "batch", "steps",  "lr",     "seed", "file", "lora-rank", "ranks"};
  return command;
}

}  // namespace pg::tools

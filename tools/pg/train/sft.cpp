// pg sft: supervised fine-tuning on the answers of a task, or on a file.
#include "rl/text/imitation.h"
#include "rl/text/ranks.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/run/session.h"
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

void print_sft_memory(const SftOptions& o, Transformer& policy, const TextTask& task, Comm& comm) {
  const TransformerConfig used = used_config(policy, task);
  check_batch_memory(used, o.batch, "a smaller --batch");
  print_memory(stdout,
               {.model = used,
                .trained = 1,
                .ranks = comm.size(),
                .zero = o.ranks.zero,
                .rows = o.batch,
                .columns = used.block_size,
                .micro_batches = ranks_share(o.train.micro_batches, comm.size()),
                .cache_rows = ranks_share(o.eval_problems, comm.size()),
                .cache_columns = used.block_size},
               comm.device(), weight_bytes(policy),
               "a smaller --batch with a larger --accumulate, fewer --eval-problems, --lora-rank, or --dtype bf16");
}

int sft(const SftOptions& o, Comm& comm) {
  RunSession session(comm, o.common.run, "sft");
  const auto task = make_task(o.common);
  const auto policy = make_policy(o.common, *task, o.train.seed, comm.device());
  print_sft_memory(o, *policy, *task, comm);
  TrainConfig train = o.train;
  train.zero = o.ranks.zero;
  Trainer trainer(*policy, train, rl::sft_batches(*task, o.batch), &comm);
  if (session.resumed()) trainer.resume(load_checkpoint(session.resumed_checkpoint()));
  session.begin(trainer.steps(), train.max_steps, "sft_" + task->name(), train.zero);
  remark(stdout, "{}: {}\n{}; {}\n", task->name(), task->about(), parameter_text(*policy, o.common.init),
         session.path());

  const auto held_out = task->held_out(o.eval_problems);
  Sampler sampler(*policy);
  std::string last;
  TrainHooks hooks;
  hooks.on_step = [&](const StepReport& report) {
    session.log(report.step, {{"loss", report.loss}, {"lr", report.lr}, {"grad_norm", report.grad_norm}});
    session.progress().update(report.step, fmt::format("loss {:.4f}{}", report.loss, last));
  };
  hooks.on_eval = [&](int64_t step) {
    rl::Metrics metrics;
    rl::Experience responses;
    trainer.with_all_weights(
        [&] { metrics = rl::evaluate_on_ranks(comm, *policy, *task, held_out, {.sampler = &sampler}, &responses); });
    session.log_evaluation(step, metrics.values());
    if (session.folder() && session.is_new(step)) append_samples(*session.folder(), *task, responses, step, kHeldOut);
    last = fmt::format("  held-out reward {:.3f}, solved {:.1f} %", metrics.at("eval/reward"),
                       100 * metrics.at("eval/solved"));
    policy->train();
  };
  hooks.on_checkpoint = [&](int64_t) {
    trainer.save(checkpoint_path(session.path()), policy_texts(o.common, *task, "sft"));
    session.saved();
  };
  if (!run_trainer(session, trainer, hooks, o.profile, stdout)) {
    return session.stopped(fmt::format("step {}", trainer.steps()));
  }
  session.progress().print(fmt::format("after {} steps:{}\nnow let it learn from rewards:  pg rl --task {} --init {}",
                                       o.train.max_steps, last, task->name(), shell_word(session.path())));
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

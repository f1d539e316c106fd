// pg reward-model and pg dpo: learning from preference pairs of responses.
#include "rl/text/preferences.h"

#include "nn/files/checkpoint.h"
#include "nn/train/run_steps.h"
#include "tensor/base/error.h"
#include "tensor/base/random.h"
#include "tools/pg/cli/commands.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/terminal_text.h"
#include "tools/pg/run/samples.h"
#include "tools/pg/run/session.h"
#include "tools/pg/train/text_rl.h"

namespace pg::tools {
namespace {

struct PreferenceOptions {
  TextRlOptions common;
  RankOptions ranks;
  int64_t pairs = 2000, held_out = 500, steps = 200;
  int64_t eval_every = 50, save_every = 50;  // steps
  int64_t eval_problems = 200;               // dpo
  double noise = 0;
  rl::PreferenceConfig preferences = {};
};

std::vector<Field> common_fields(PreferenceOptions& o) {
  return joined(
      {fields(o.common), fields(o.ranks),
       titled("Training",
              {{"pairs", &o.pairs, "pairs to learn from, written by --init and labelled by the task's score",
                whole_from(1, 1000000)},
               {"held-out", &o.held_out, "pairs to test on", whole_from(1, 1000000)},
               {"noise", &o.noise, "the better response is preferred with odds of e^(difference / noise); 0: always",
                kNotNegative},
               {"steps", &o.steps, "optimizer steps", whole_from(1)},
               {"eval-every", &o.eval_every, "steps between evaluations; 0: only at the end", whole_from(0)},
               {"save-every", &o.save_every, "steps between checkpoints; 0: only at the end", whole_from(0)}})});
}

enum Stream : uint64_t { problem_stream, label_stream, rollout_stream, head_stream, usual_stream };
constexpr int64_t kUsual = 512;  // number of responses that a reward model is normalised over

rl::Experience write(Comm& comm, Transformer& policy, const TextTask& task, int64_t prompts, int64_t samples,
                     Generator& problems, uint64_t first_row, Sampler* sampler = nullptr) {
  std::vector<Problem> drawn;
  for (int64_t i = 0; i < prompts; ++i) drawn.push_back(task.sample(problems));
  return rl::rollout_on_ranks(
      comm, policy, task, drawn,
      {.samples = samples, .seed = problems.seed(), .first_row = first_row, .sampler = sampler});
}

// `count` pairs of responses written by the policy and labelled with the task's score.
std::vector<rl::Preference> draw_pairs(Comm& comm, Transformer& policy, const TextTask& task,
                                       const PreferenceOptions& o, int64_t count) {
  Generator problems = random_stream(o.preferences.seed, problem_stream);
  Generator labels = random_stream(o.preferences.seed, label_stream);
  const int64_t prompts = 256;
  Sampler sampler(policy);
  std::vector<rl::Preference> pairs;
  for (uint64_t round = 0; static_cast<int64_t>(pairs.size()) < count; ++round) {
    check(round < 64 || pairs.size() * 100 > round * prompts,
          "{}: hardly any two responses to a prompt differ in reward ({} pairs of {}): there is nothing to prefer",
          task.name(), pairs.size(), round * prompts);
    const rl::Experience experience = write(comm, policy, task, prompts, 2, problems, round << 32, &sampler);
    for (rl::Preference& pair : rl::label_pairs(experience, o.noise, labels)) pairs.push_back(std::move(pair));
  }
  pairs.resize(static_cast<size_t>(count));
  return pairs;
}

// The model that writes the pairs is that of --init, also in a run that is resumed: so the pairs are the same again.
struct Setting {
  std::unique_ptr<TextTask> task;
  std::unique_ptr<Transformer> policy;
  std::vector<rl::Preference> pairs, held_out;
};
Setting prepare(const PreferenceOptions& o, Comm& comm) {
  Setting s{make_task(o.common), {}, {}, {}};
  s.policy = make_policy(o.common, *s.task, o.preferences.seed, comm.device());
  s.pairs = draw_pairs(comm, *s.policy, *s.task, o, o.pairs + o.held_out);
  s.held_out.assign(s.pairs.begin() + o.pairs, s.pairs.end());
  s.pairs.resize(static_cast<size_t>(o.pairs));
  const TransformerConfig used = used_config(*s.policy, *s.task);
  const int64_t batch = o.preferences.batch, part = o.preferences.micro_batch;
  const int64_t micro = part > 0 ? std::min(batch, part) : batch;
  print_memory(stdout,
               {.model = used,
                .trained = 1,
                .references = 1,  // of pg reward-model the policy
                .ranks = comm.size(),
                .rows = 2 * micro,
                .columns = used.block_size,
                .micro_batches = ranks_share(ranks_share(batch, micro), comm.size()),
                .logit_rows = rl::logit_rows(used.vocab_size)},
               comm.device(), weight_bytes(*s.policy), "a smaller --micro-batch, or --dtype bf16");
  remark(stdout, "{}: {}\n{} pairs by {}; {} more are held out\n", s.task->name(), s.task->about(), o.pairs,
         o.common.init, o.held_out);
  return s;
}

// What a command does beside the steps.
struct Actions {
  // Measures the model, logs the measurements and returns a sentence.
  std::function<std::string(int64_t step)> evaluate;
  // The metadata of a checkpoint. Called on rank 0 only.
  std::function<std::map<std::string, std::string>()> texts;
};
// Runs all steps, or until it is stopped: then the state after the last finished step is saved. Returns the exit
// status.
template <class Trainer>
int run(const PreferenceOptions& o, RunSession& session, const std::string& name, Trainer& trainer,
        const Actions& actions) {
  if (session.resumed()) trainer.state().resume(load_checkpoint(session.resumed_checkpoint()));
  session.begin(trainer.state().steps(), o.steps, name);
  const auto save = [&](int64_t) {
    if (session.folder()) trainer.state().save(checkpoint_path(session.path()), actions.texts());
    session.saved();
  };
  std::string last;
  const auto evaluate = [&](int64_t step) {
    last = actions.evaluate(step);
    if (step == 0) session.progress().print(fmt::format("at the start: {}", std::exchange(last, "")));
  };
  const auto step = [&] {
    const rl::Metrics metrics = trainer.step(session.should_stop());
    if (metrics.values().empty()) return false;
    session.log(trainer.state().steps(), metrics.values());
    session.progress().update(trainer.state().steps(), fmt::format("loss {:.4f}  accuracy {:.2f}  {}",
                                                                   metrics.at("loss"), metrics.at("accuracy"), last));
    return true;
  };
  const bool complete = run_steps({.last = o.steps,
                                   .eval_interval = o.eval_every,
                                   .checkpoint_interval = o.save_every,
                                   .steps = [&] { return trainer.state().steps(); },
                                   .step = step,
                                   .on_eval = evaluate,
                                   .on_checkpoint = save,
                                   .should_stop = session.should_stop()});
  if (!complete) {
    save(trainer.state().steps());
    return session.stopped(fmt::format("step {}", trainer.state().steps()));
  }
  session.progress().print(fmt::format("after {} steps: {}   {}", o.steps, last, session.path()));
  return 0;
}

std::string number(double x) { return fmt::format("{:a}", x); }

int train_reward_model(const PreferenceOptions& o, Comm& comm) {
  RunSession session(comm, o.common.run, "reward-model");
  Setting s = prepare(o, comm);
  Generator head = random_stream(o.preferences.seed, head_stream);
  rl::ScalarModel model(*s.policy, 1 / std::sqrt(static_cast<double>(s.policy->config.n_embd) + 1), head);
  rl::RewardModelTrainer trainer(model, s.pairs, o.preferences, &comm);
  Generator usual_problems = random_stream(o.preferences.seed, usual_stream);
  const rl::Experience usual = write(comm, *s.policy, *s.task, kUsual, 1, usual_problems, 0);
  const auto evaluate = [&](int64_t step) {
    const double accuracy = trainer.accuracy(s.held_out);
    session.log_evaluation(step, {{"eval/accuracy", accuracy}});
    return fmt::format("orders {:.1f} % of the held-out pairs as labelled", 100 * accuracy);
  };
  const auto texts = [&] {
    EvalMode eval_mode(model);
    const rl::RewardModelJudge judge(model, usual.responses);
    return std::map<std::string, std::string>{{"model", to_json(s.policy->config)},
                                              {"kind", "reward-model"},
                                              {"task", o.common.task},
                                              {"score_mean", number(judge.mean())},
                                              {"score_std", number(judge.std())}};
  };
  const int status = run(o, session, "reward_model_" + s.task->name(), trainer, {evaluate, texts});
  if (status == 0) {
    remark(stdout, "now let it pay:  pg rl --task {} --init {} --reward-model {}\n", s.task->name(),
           shell_word(o.common.init), shell_word(session.path()));
  }
  return status;
}

int dpo(const PreferenceOptions& o, Comm& comm) {
  RunSession session(comm, o.common.run, "dpo");
  Setting s = prepare(o, comm);
  rl::DpoTrainer trainer(*s.policy, s.pairs, o.preferences, &comm);
  Sampler sampler(*s.policy);
  const auto held_out = s.task->held_out(o.eval_problems);
  const auto evaluate = [&](int64_t step) {
    const auto responses =
        rl::rollout_on_ranks(comm, *s.policy, *s.task, held_out,
                             {.samples = 1, .seed = o.preferences.seed, .sampler = &sampler, .entropy = true});
    rl::Metrics metrics;
    rl::add_eval_metrics(metrics, responses);
    const double accuracy = trainer.accuracy(s.held_out);
    metrics.add("eval/accuracy", accuracy);
    session.log_evaluation(step, metrics.values());
    if (session.folder() && session.is_new(step)) {
      append_samples(*session.folder(), *s.task, responses, step, kHeldOut);
    }
    const std::string reward = fmt::format("held-out reward {:.3f}", metrics.at("eval/reward"));
    return step == 0 ? reward : fmt::format("{}, {:.1f} % of the held-out pairs", reward, 100 * accuracy);
  };
  const auto texts = [&] {
    std::map<std::string, std::string> all = policy_texts(o.common, *s.task, "dpo");
    all["model"] = to_json(s.policy->config);
    return all;
  };
  return run(o, session, "dpo_" + s.task->name(), trainer, {evaluate, texts});
}

// The fields of a trainer, with how unnamed ones are derived.
std::vector<Field> with_notes(std::vector<Field> fields) {
  return titled("Training", annotated(std::move(fields), {{"min-lr", "unless given, a tenth of --lr"},
                                                          {"micro-batch", kPartForEachRank}}));
}

// The command of one of the two trainers, whose fields `own` gives.
Command command_of(std::string name, std::string about, std::vector<Field> (*own)(PreferenceOptions&),
                   int (*action)(const PreferenceOptions&, Comm&)) {
  const auto o = std::make_shared<PreferenceOptions>();
  const auto run = [o, own, action](Given& given) {
    choose_task(o->common, given);
    check(!o->common.init.empty(),
          "pg {}: --init RUN is missing: a policy must write the responses to choose from; pg sft makes one",
          given.command());
    settle(o->preferences.schedule, o->steps, given);
    settle_micro_batch(o->preferences.micro_batch, o->preferences.batch, o->ranks, given);
    o->common.run.config = given.yaml(joined({own(*o), o->common.setup.fields}));
    return run_on_ranks(o->ranks, o->common.device, o->common.run, [&](Comm& comm) { return action(*o, comm); });
  };
  Command command = text_command(std::move(name), std::move(about), own(*o), run);
  command.usual = {"config", "name",  "resume", "device", "task", "init", "file",
                   "pairs",  "noise", "batch",  "steps",  "lr",   "seed", "ranks"};
  return command;
}

}  // namespace

Command reward_model_command() {
  const auto own = [](PreferenceOptions& o) {
    return joined({common_fields(o), with_notes(rl::reward_model_fields(o.preferences))});
  };
  return command_of("reward-model", "a model learns from choices what a response is worth", own, train_reward_model);
}

Command dpo_command() {
  const auto own = [](PreferenceOptions& o) {
    const Field problems = {"eval-problems", &o.eval_problems, "problems of an evaluation", whole_from(1, 1000000)};
    return joined({common_fields(o), titled("Training", {problems}), with_notes(rl::dpo_fields(o.preferences))});
  };
  return command_of("dpo", "a GPT-2 learns from choices directly", own, dpo);
}

RewardModel load_reward_model(const std::string& run, const TextTask& task, const Device& device) {
  const std::string path = checkpoint_of(run);
  const Checkpoint checkpoint = load_checkpoint(path);
  check(checkpoint.state.metadata.contains("score_mean"), "{}: no reward model; pg reward-model makes one", path);
  check(checkpoint.text("task") == task.name(), "{}: a reward model of the task {}, not {}", path,
        checkpoint.text("task"), task.name());
  Generator unused(0);
  Transformer trunk(checkpoint.model_config(), unused);
  RewardModel loaded;
  loaded.model = std::make_unique<rl::ScalarModel>(trunk, 0, unused);
  checkpoint.restore(*loaded.model);
  loaded.model->to(device);
  loaded.model->eval();
  const auto value = [&](const char* name) { return std::strtod(checkpoint.text(name).c_str(), nullptr); };
  loaded.judge = std::make_unique<rl::RewardModelJudge>(*loaded.model, value("score_mean"), value("score_std"));
  return loaded;
}

}  // namespace pg::tools

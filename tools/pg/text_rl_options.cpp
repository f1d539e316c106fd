// Command-line options of sft, rl, reward-model, dpo and expert-iteration.
#include <CLI/CLI.hpp>

#include "nn/checkpoint.h"
#include "tensor/base/error.h"
#include "tools/pg/commands.h"
#include "tools/pg/run/memory.h"
#include "tools/pg/run/numbers.h"
#include "tools/pg/run/remark.h"
#include "tools/pg/run/run.h"
#include "tools/pg/run/run_model.h"
#include "tools/pg/text_rl.h"

namespace pg::tools {
namespace {

void add_common(CLI::App& app, TextRlOptions& o) {
  app.add_option("--config", o.config, "a YAML file with these options; the command line wins over it")
      ->configurable(false);
  app.add_option("--task", o.task, "copy, reverse, sort, digits, keyword, guess or imitate");
  app.add_option("--length", o.task_options.length, "copy, reverse, sort: digits at most; imitate: characters to write")
      ->transform(whole(1, 1000));
  app.add_option("--context", o.task_options.context, "imitate: characters given")->transform(whole(1, 1000000));
  app.add_option("--negative", o.task_options.negative, "imitate: -1 for a wrong character instead of 0");
  app.add_option("--corpus", o.task_options.corpus, "imitate: tinyshakespeare, stories, or a text file");
  app.add_option("--length-penalty", o.task_options.length_penalty, "keyword: for each token past the eighth")
      ->transform(number(0));
  app.add_option("--init", o.init, "a run or checkpoint to begin with; its model decides layers, heads and width");
  app.add_option("--layers", o.layers, "transformer blocks")->transform(whole(1, 100000));
  app.add_option("--heads", o.heads, "attention heads")->transform(whole(1, 1000000));
  app.add_option("--width", o.width, "channels, a multiple of the heads")->transform(whole(1, 1000000));
  app.add_option("--out", o.out, "the folder of all runs");
  app.add_option("--name", o.name, "the run's name; empty: what it does");
  app.add_option("--device", o.device, "cpu, cuda or cuda:1");
  app.add_option("--dtype", o.dtype, "of weights and activations: f32 or bf16; empty: f32, or that of --init")
      ->transform(one_of({"", "f32", "bf16"}));
  app.add_option("--threads", o.threads, "threads; 0: as many as cores")->transform(whole(0, 1024));
  app.add_option("--seed", o.seed, "the same seed gives the same model, bit for bit");
  app.add_option("--eval-every", o.eval_every, "steps between evaluations on held-out problems; 0: only at the end")
      ->transform(whole(0));
  app.add_option("--eval-problems", o.eval_problems,
                 "problems of an evaluation; of copy, reverse and sort all different, so short ones are rarer "
                 "than in training")
      ->transform(whole(1, 1000000));
}

void add_resume(CLI::App& app, TextRlOptions& o) {
  app.add_option("--resume", o.resume, "go on with the run in this folder, bit for bit")->configurable(false);
  app.add_option("--save-every", o.save_every, "steps between checkpoints; 0: only at the end")->transform(whole(0));
}

void add_preference_options(CLI::App& app, PreferenceOptions& o) {
  o.common.eval_every = 50;
  add_common(app, o.common);
  app.add_option("--pairs", o.pairs, "pairs to learn from, written by --init and labelled by the task's score")
      ->transform(whole(1, 1000000));
  app.add_option("--held-out", o.held_out, "pairs to test on")->transform(whole(1, 1000000));
  app.add_option("--noise", o.noise, "the better one is preferred with odds of e^(difference / noise); 0: always")
      ->transform(number(0));
  app.add_option("--steps", o.steps, "optimizer steps")->transform(whole(1));
  app.add_option("--batch", o.preferences.batch, "pairs per step")->transform(whole(1, 1000000));
  app.add_option("--lr", o.preferences.schedule.lr, "learning rate")->transform(number(0));
  app.add_option("--weight-decay", o.preferences.adamw.weight_decay, "AdamW: on matrices only")->transform(number(0));
  app.add_option("--clip", o.preferences.max_grad_norm, "largest gradient norm; 0: any")->transform(number(0));
}

}  // namespace

void add_reward_model_options(CLI::App& app, PreferenceOptions& o) {
  add_preference_options(app, o);
  app.add_option("--centring", o.preferences.centring, "weight of (score + score)^2, which keeps scores near 0")
      ->transform(number(0));
}

void add_dpo_options(CLI::App& app, PreferenceOptions& o) {
  add_preference_options(app, o);
  app.add_option("--beta", o.preferences.dpo.beta, "how strongly the policy is held to what it was")
      ->transform(above_zero());
  app.add_option("--kind", o.kind, "the loss")->transform(one_of({"sigmoid", "robust", "hinge", "ipo"}));
  app.add_option("--label-smoothing", o.preferences.dpo.label_smoothing, "the share of labels taken to be flipped")
      ->transform(below(0.5));
}

void add_expert_iteration_options(CLI::App& app, ExpertIterationOptions& o) {
  o.common.eval_every = 5;
  add_common(app, o.common);
  add_resume(app, o.common);
  app.add_option("--iterations", o.iterations, "rounds of sampling and imitating")->transform(whole(1));
  app.add_option("--problems", o.config.problems, "per iteration")->transform(whole(1, 1000000));
  app.add_option("--samples", o.config.samples, "responses to each")->transform(whole(1, 1000000));
  app.add_option("--temperature", o.config.temperature, "of sampling")->transform(above_zero());
  app.add_option("--epochs", o.config.epochs, "passes over what was kept")->transform(whole(1));
  app.add_option("--batch", o.config.batch, "responses per optimizer step")->transform(whole(1, 1000000));
  app.add_option("--lr", o.config.lr, "learning rate")->transform(number(0));
  app.add_option("--clip", o.config.max_grad_norm, "largest gradient norm; 0: any")->transform(number(0));
}

void add_sft_options(CLI::App& app, SftOptions& o) {
  add_common(app, o.common);
  add_resume(app, o.common);
  app.add_option("--steps", o.steps, "optimizer steps")->transform(whole(1));
  app.add_option("--batch", o.batch, "problems per step")->transform(whole(1, 1000000));
  app.add_option("--lr", o.lr, "highest learning rate")->transform(number(0));
  app.add_option("--min-lr", o.min_lr, "last learning rate, reached linearly; default: at most --lr")
      ->transform(number(0));
  app.add_option("--warmup", o.warmup, "steps of rising learning rate")->transform(whole(0));
  app.add_option("--weight-decay", o.weight_decay, "AdamW: on matrices only")->transform(number(0));
  app.add_option("--clip", o.clip, "largest gradient norm; 0: any")->transform(number(0));
}

void add_rl_options(CLI::App& app, RlOptions& o) {
  o.common.eval_every = 10;
  add_common(app, o.common);
  add_resume(app, o.common);
  app.add_option("--explain", o.explain, "print an algorithm's formula and conventions, and do nothing else")
      ->configurable(false);
  app.add_option("--algorithm", o.algorithm, "a row of the table; the options up to --epochs change single choices");
  rl::Algorithm any;
  for (const Field& field : rl::fields(any)) {
    app.add_option_function<std::string>(
           "--" + field.name, [&o, name = field.name](const std::string& value) { o.overrides[name] = value; },
           field.about + " " + field.allowed())
        ->default_str("");
  }
  app.add_option("--reward-model", o.reward_model, "a run of pg reward-model: its scores are the rewards");
  app.add_option("--reference-model", o.reference_model,
                 "a run or checkpoint whose model is the reference of the KL (--reference given)");
  app.add_option("--prompts", o.rl.batch.prompts, "per step")->transform(whole(1, 1000000));
  app.add_option("--samples", o.rl.batch.samples, "responses to each prompt")->transform(whole(1, 1000000));
  app.add_option("--mini-batches", o.rl.batch.mini_batches, "optimizer steps per epoch")->transform(whole(1, 1000000));
  app.add_option("--micro-batch", o.rl.batch.micro_batch, "responses per forward pass; 0: a mini-batch at once")
      ->transform(whole(0, 1000000));
  app.add_option("--exhaustive", o.rl.exhaustive, "as many samples as tokens: each begins with another");
  app.add_option("--max-rows", o.rl.max_rows, "responses sampled at a time; 0: all")->transform(whole(0, 1000000));
  app.add_option("--steps", o.rl.steps, "rollouts, each with its updates")->transform(whole(0));
  app.add_option("--temperature", o.rl.temperature, "of sampling, and so of the log-probabilities")
      ->transform(above_zero());
  app.add_option("--target-std", o.rl.adaptive_temperature.target_std,
                 "the temperature rises when the rewards' deviation is below this; 0: it stays")
      ->transform(number(0));
  app.add_option("--lr", o.rl.schedule.lr, "learning rate of the policy")->transform(number(0));
  app.add_option("--min-lr", o.rl.schedule.min_lr, "last learning rate; default: a tenth of --lr")
      ->transform(number(0));
  app.add_option("--warmup", o.rl.schedule.warmup_steps, "steps of rising learning rate")->transform(whole(0));
  app.add_option("--schedule", o.schedule, "of the learning rate: constant, linear, cosine")
      ->transform(one_of({"constant", "linear", "cosine"}));
  app.add_option("--shared-critic", o.rl.shared_critic, "the critic is one more head on the policy");
  app.add_option("--critic-lr", o.rl.critic_lr, "learning rate of the critic")->transform(number(0));
  app.add_option("--beta1", o.rl.adamw.beta1, "AdamW: decay of the mean")->transform(below(1));
  app.add_option("--beta2", o.rl.adamw.beta2, "AdamW: decay of the mean square")->transform(below(1));
  app.add_option("--weight-decay", o.rl.adamw.weight_decay, "AdamW: on matrices only")->transform(number(0));
  app.add_option("--clip", o.rl.max_grad_norm, "largest gradient norm; 0: any")->transform(number(0));
  app.add_option("--unfinished-penalty", o.rl.unfinished_penalty, "taken off a response that ran into the limit");
  app.add_option("--log-prob-credit", o.rl.log_prob_credit, "times log-probability, added to each token's reward");
  app.add_option("--shuffle-rewards", o.rl.shuffle_rewards, "a control: rewards go to the wrong responses");
  app.add_option("--show-every", o.show_every, "steps between tables of samples; 0: only after the last")
      ->transform(whole(0));
  app.add_option("--sft-steps", o.sft_steps, "steps of imitation before; 0: none")->transform(whole(0));
  app.add_option("--sft-batch", o.sft_batch, "problems per such step")->transform(whole(1, 1000000));
  app.add_option("--sft-lr", o.sft_lr, "their learning rate")->transform(number(0));
  app.add_option("--sft-until", o.sft_until,
                 "imitation ends when held-out problems earn this, looked at every 20 steps; 0: after all steps")
      ->transform(number(0));
}

rl::Algorithm algorithm_of(const RlOptions& o) {
  rl::Algorithm a = rl::algorithm(o.algorithm);
  set_fields(rl::fields(a), a.name, o.overrides);
  if (!o.reference_model.empty()) {
    const auto stated = o.overrides.find("reference");
    const std::string kind = stated == o.overrides.end() || stated->second.empty() ? "given" : stated->second;
    check(kind == "given", "pg rl: --reference-model goes with --reference given, not {}", kind);
    a.reference = "given";
  }
  rl::check_algorithm(a);
  return a;
}

void state_algorithm(CLI::App& app, const rl::Algorithm& algorithm) {
  rl::Algorithm a = algorithm;
  for (const Field& field : rl::fields(a)) app.get_option("--" + field.name)->default_str(field.text());
}

std::unique_ptr<TextTask> make_task(const TextRlOptions& o) {
  auto task = make_text_task(o.task, o.task_options);
  if (const std::string note = task->note(); !note.empty()) remark(stderr, "{}\n", note);
  return task;
}

std::unique_ptr<Gpt2> load_policy(const std::string& run, const TextTask& task, const Device& device,
                                  const std::string& dtype) {
  const Checkpoint checkpoint = load_checkpoint(checkpoint_of(run));
  const std::string vocabulary = tokenizer_of(checkpoint)->to_json();
  check(vocabulary == task.tokenizer().to_json(),
        "{}: its vocabulary is not that of the task {}: the model knows {:.200}, the task needs {:.200}", run,
        task.name(), vocabulary, task.tokenizer().to_json());
  Gpt2Config config = checkpoint.gpt2_config();
  if (!dtype.empty()) config.dtype = dtype == "bf16" ? bf16 : f32;
  Generator unused(0);
  auto policy = std::make_unique<Gpt2>(config, unused);
  checkpoint.restore(*policy);
  policy->to(device);
  return policy;
}

std::unique_ptr<Gpt2> make_policy(const TextRlOptions& o, const TextTask& task) {
  if (!o.init.empty()) return load_policy(o.init, task, parse_device(o.device), o.dtype);
  const Gpt2Config config = {.vocab_size = task.vocab_size(),
                             .block_size = rl::block_size_for(task),
                             .n_layer = o.layers,
                             .n_head = o.heads,
                             .n_embd = o.width,
                             .in_proj_std = 1 / std::sqrt(static_cast<double>(o.width)),
                             .dtype = o.dtype == "bf16" ? bf16 : f32};
  check_model_memory(config);
  Generator init(o.seed);
  auto policy = std::make_unique<Gpt2>(config, init);
  policy->to(parse_device(o.device));
  return policy;
}

std::map<std::string, std::string> policy_texts(const TextTask& task, const std::string& kind) {
  return {{"kind", kind},
          {"task", task.name()},
          {"tokenizer", task.tokenizer().to_json()},
          {"prompt", example_prompt(task)}};
}

}  // namespace pg::tools

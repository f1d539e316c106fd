// The command line of pg: train and sample models, test and benchmark the engine.
#include <fmt/ranges.h>

#include <functional>
#include <sstream>

#include "nn/checkpoint.h"
#include "nn/gpt2.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"
#include "tools/pg/commands.h"
#include "tools/pg/env.h"
#include "tools/pg/eval.h"
#include "tools/pg/golden/golden.h"
#include "tools/pg/info.h"
#include "tools/pg/run/numbers.h"
#include "tools/pg/run/process.h"
#include "tools/pg/run/run.h"
#include "tools/pg/text_rl.h"
#include "tools/pg/yaml_config.h"

using namespace pg::tools;

namespace {

void add_machine_options(CLI::App& app, std::string& device, int& threads) {
  app.add_option("--device", device, "cpu, cuda or cuda:1");
  app.add_option("--threads", threads, "threads; 0: as many as cores")->transform(whole(0, 1024));
}

void add_exact(CLI::App& app, bool& exact) {
  app.add_flag("--exact", exact, "on a GPU: a token has the same log-probability sampled and trained on, bit for bit")
      ->default_str("false");
}

void add_train_options(CLI::App& app, TrainOptions& o, std::string& config) {
  app.add_option("--config", config, "a YAML file with these options; the command line wins over it")
      ->configurable(false);
  app.add_option("--resume", o.resume, "go on with the run in this folder, bit for bit")->configurable(false);
  app.add_flag("--profile", o.profile, "end with a table of where the time went")->configurable(false);
  app.add_flag("--json", o.json, "end with a JSON object, and write nothing else to standard output")
      ->configurable(false);
  app.add_option("--data", o.data, "tinyshakespeare, stories, or any text file");
  app.add_option("--val", o.val, "a text to validate on; default: the last tenth of the data");
  app.add_option("--init", o.init, "a run or checkpoint whose model is trained on: it decides sizes and vocabulary");
  app.add_option("--name", o.name, "the run's name");
  app.add_option("--out", o.out, "the folder of all runs");
  add_machine_options(app, o.device, o.threads);
  add_exact(app, o.exact);
  app.add_option("--seed", o.seed, "the same seed gives the same model, bit for bit");
  app.add_option("--layers", o.layers, "transformer blocks")->transform(whole(1, 100000));
  app.add_option("--heads", o.heads, "attention heads")->transform(whole(1, 1000000));
  app.add_option("--width", o.width, "channels, a multiple of the heads")->transform(whole(1, 1000000));
  app.add_option("--in-proj-std", o.in_proj_std,
                 "deviation of the first weights of what reads the residual stream; 0: 1/sqrt(width)")
      ->transform(number(0));
  app.add_option("--dtype", o.dtype, "of weights and activations; bf16 keeps f32 masters of the weights")
      ->transform(one_of({"f32", "bf16"}));
  app.add_flag("--checkpoint-blocks", o.checkpoint_blocks,
               "keep only the inputs of the blocks, compute the rest again: less memory, more time")
      ->default_str("false");
  app.add_option("--context", o.context, "characters the model sees at once")->transform(whole(1, 1000000));
  app.add_option("--dropout", o.dropout, "probability of dropping an activation")->transform(below(1));
  app.add_option("--batch", o.batch, "sequences per batch")->transform(whole(1, 1000000));
  app.add_option("--accumulate", o.accumulate, "batches per step")->transform(whole(1, 1000000));
  app.add_option("--steps", o.steps, "optimizer steps")->transform(whole(1));
  app.add_option("--schedule", o.schedule, "of the learning rate")->transform(one_of({"constant", "linear", "cosine"}));
  app.add_option("--lr", o.lr, "highest learning rate")->transform(number(0));
  app.add_option("--min-lr", o.min_lr, "last learning rate; default: a tenth of --lr")->transform(number(0));
  app.add_option("--warmup", o.warmup, "steps of rising learning rate; default for 100 steps or fewer: a tenth of them")
      ->transform(whole(0));
  app.add_option("--beta1", o.beta1, "AdamW: decay of the mean")->transform(below(1));
  app.add_option("--beta2", o.beta2, "AdamW: decay of the mean square")->transform(below(1));
  app.add_option("--weight-decay", o.weight_decay, "AdamW: on matrices only")->transform(number(0));
  app.add_flag("--stochastic-rounding", o.stochastic_rounding,
               "with bf16: weights are rounded up or down with the odds that keep their mean")
      ->default_str("false");
  app.add_option("--clip", o.clip, "largest gradient norm; 0: any")->transform(number(0));
  app.add_option("--eval-every", o.eval_every, "steps between evaluations; 0: only at the end")->transform(whole(0));
  app.add_option("--eval-batches", o.eval_batches, "batches of an evaluation; the last reads the whole text")
      ->transform(whole(1));
  app.add_option("--save-every", o.save_every, "steps between checkpoints; 0: only at the end")->transform(whole(0));
  app.add_option("--sample-every", o.sample_every, "steps between short samples on standard error; 0: none")
      ->transform(whole(0));
  app.add_option("--minutes", o.minutes, "minutes of training, then it is saved and stopped; 0: no limit")
      ->transform(number(0));
}

// With --init the sizes are those of its model. They become the options' values, so that a saved config includes them.
// Throws Error for an option with another value.
void take_sizes_of_init(CLI::App& app, TrainOptions& o) {
  if (o.init.empty()) return;
  const pg::Gpt2Config model = pg::load_checkpoint(checkpoint_of(o.init)).gpt2_config();
  const auto take = [&](const char* name, auto& value, const auto& of_model) {
    CLI::Option* option = app.get_option(name);
    pg::check(option->count() == 0 || value == of_model,
              "train: {} {} differs from the {} of the model in {}; leave it out", name, value, of_model, o.init);
    value = of_model;
    option->default_str(fmt::format("{}", value));
  };
  take("--layers", o.layers, model.n_layer);
  take("--heads", o.heads, model.n_head);
  take("--width", o.width, model.n_embd);
  take("--context", o.context, model.block_size);
  take("--in-proj-std", o.in_proj_std, model.in_proj_std);
  take("--dtype", o.dtype, std::string(pg::name_of(model.dtype)));
}

void add_sample_options(CLI::App& app, SampleCommandOptions& o) {
  app.add_option("run", o.run, "a run's folder, or a checkpoint")->required();
  app.add_flag("--best", o.best, "the checkpoint of the lowest validation loss instead of the last one");
  CLI::Option* prompt = app.add_option(
      "--prompt", o.prompt, "the text to go on from; -: standard input; default: a new line, or a problem of the task");
  CLI::Option* file = app.add_option("--prompt-file", o.prompt_file, "a file with the text to go on from");
  CLI::Option* interactive =
      app.add_flag("--interactive", o.interactive, "each line of standard input is a prompt, until it ends");
  prompt->excludes(file)->excludes(interactive);
  file->excludes(interactive);
  app.add_option("--stop", o.stops, "a text that ends a sample and is not shown; may be given several times")
      ->allow_extra_args(false);
  app.add_option("--tokens", o.tokens, "characters to write")->transform(whole(1));
  app.add_option("--count", o.count, "texts to write")->transform(whole(1));
  app.add_option("--seed", o.seed, "the same seed gives the same text");
  app.add_option("--temperature", o.temperature, "0: always the likeliest; below 1: safer, above 1: bolder")
      ->transform(number(0));
  app.add_option("--top-k", o.top_k, "choose among the k likeliest; 0: all")->transform(whole(0));
  app.add_option("--top-p", o.top_p, "choose among the likeliest that make up this probability")
      ->transform(number(0, 1));
  app.add_option("--min-p", o.min_p, "leave out what is less likely than this times the likeliest")
      ->transform(number(0, 1));
  app.add_flag("--greedy", o.greedy, "always the likeliest");
  app.add_flag("--json", o.json, "a line with a JSON object for each sample, and nothing else on standard output");
  add_machine_options(app, o.device, o.threads);
  add_exact(app, o.exact);
}

// x / 10, rounded to 6 significant digits, as a person would write it.
double tenth(double x) { return std::stod(fmt::format("{:.6g}", x / 10)); }

// The error of a command line, as one sentence.
std::string sentence(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::vector<std::string> commands, options, rest = app.remaining(/*recurse=*/true);
  for (const CLI::App* sub : app.get_subcommands(nullptr)) commands.push_back(sub->get_name());
  const CLI::App& current = chosen.empty() ? app : *chosen.front();
  for (const CLI::Option* option : current.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back(name);
  }
  const std::string name = chosen.empty() ? "pg" : "pg " + current.get_name();
  if (!rest.empty() && rest.front().starts_with("-")) {
    const std::string option = rest.front().substr(0, rest.front().find('='));
    const std::string bare = option.substr(std::min(option.size(), option.find_first_not_of('-')));
    return fmt::format("{} has no option {}{}; `{} --help` lists them", name, option, pg::did_you_mean(bare, options),
                       name);
  }
  const std::string known = fmt::format("known are {}", fmt::join(commands, ", "));
  if (chosen.empty() && !rest.empty()) {
    return fmt::format("there is no command {}{}; {}", rest.front(), pg::did_you_mean(rest.front(), commands), known);
  }
  if (chosen.empty()) return fmt::format("a command is missing; {}; `pg --help` explains them", known);
  if (!rest.empty())
    return fmt::format("{} expects nothing like '{}'; `{} --help` lists its options", name, rest.front(), name);
  const std::string what = error.what(), option = what.substr(0, what.find(':'));
  const std::string type = error.get_name();
  if (type == "RequiredError")
    return fmt::format("{} needs {}; `{} --help` explains it", name, what.substr(0, what.find(' ')), name);
  if (type == "ArgumentMismatch") return fmt::format("{}: expected one value, given once", option);
  return what;
}

int pg_command(int argc, char** argv) {
  CLI::App app{"policygrad: train and try models, check and measure the engine"};
  app.name("pg");
  app.set_version_flag("--version", fmt::format("pg {}", version()));
  app.require_subcommand(1);
  std::function<int()> run;  // set by the subcommand on the command line
  const auto command = [&](const char* name, const char* description, std::function<int(CLI::App&)> action) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->option_defaults()->always_capture_default();
    sub->callback([&run, sub, action = std::move(action)] { run = [sub, action] { return action(*sub); }; });
    return sub;
  };

  TrainOptions train_options;
  std::string config;
  CLI::App* sub = command("train", "a GPT-2 learns the characters of a text", [&](CLI::App& self) {
    pg::check(train_options.init.empty() || train_options.resume.empty(),
              "train: --init begins a run and --resume goes on with one; leave one of them out");
    if (!config.empty()) apply_yaml(self, config);
    if (!train_options.resume.empty()) apply_yaml(self, train_options.resume + "/config.yaml");
    if (train_options.resume.empty()) take_sizes_of_init(self, train_options);
    if (train_options.steps <= train_options.warmup)
      follow(self, "--warmup", train_options.warmup, train_options.steps / 10);
    follow(self, "--min-lr", train_options.min_lr, tenth(train_options.lr));
    check_rates(train_options.lr, train_options.min_lr, train_options.warmup, train_options.steps,
                train_options.schedule == "constant");
    train_options.config = effective_yaml(self);
    return train(train_options);
  });
  add_train_options(*sub, train_options, config);

  SampleCommandOptions sample_options;
  sub = command("sample", "text from a trained model", [&](CLI::App&) { return sample(sample_options); });
  add_sample_options(*sub, sample_options);

  EvalOptions eval_options;
  sub = command("eval", "how well a model of text predicts another text",
                [&](CLI::App&) { return evaluate(eval_options); });
  add_eval_options(*sub, eval_options);

  InfoOptions info_options;
  sub = command("info", "what a run is, how far it is, and the command to go on with",
                [&](CLI::App&) { return info(info_options); });
  add_info_options(*sub, info_options);

  const auto read_configs = [](CLI::App& self, const auto& common) {
    if (!common.config.empty()) apply_yaml(self, common.config);
    if (!common.resume.empty()) apply_yaml(self, common.resume + "/config.yaml");
  };
  SftOptions sft_options;
  sub = command("sft", "a GPT-2 imitates the answers of a task", [&](CLI::App& self) {
    read_configs(self, sft_options.common);
    follow(self, "--min-lr", sft_options.min_lr, std::min(sft_options.min_lr, sft_options.lr));
    check_rates(sft_options.lr, sft_options.min_lr, sft_options.warmup, sft_options.steps, false);
    sft_options.common.config = effective_yaml(self);
    return sft(sft_options);
  });
  add_sft_options(*sub, sft_options);

  RlOptions rl_options;
  sub = command("rl", "a GPT-2 learns a task from rewards", [&](CLI::App& self) {
    read_configs(self, rl_options.common);
    pg::Schedule& rates = rl_options.rl.schedule;
    follow(self, "--min-lr", rates.min_lr, tenth(rates.lr));
    check_rates(rates.lr, rates.min_lr, rates.warmup_steps, rl_options.rl.steps, rl_options.schedule == "constant");
    state_algorithm(self, algorithm_of(rl_options));
    rl_options.common.config = effective_yaml(self);
    return run_rl(rl_options);
  });
  add_rl_options(*sub, rl_options);

  PreferenceOptions reward_model_options, dpo_options;
  const auto preferences = [&](const char* name, const char* description, PreferenceOptions& o, auto action) {
    return command(name, description, [&o, read_configs, action](CLI::App& self) {
      read_configs(self, o.common);
      o.common.config = effective_yaml(self);
      return action(o);
    });
  };
  sub = preferences("reward-model", "a model learns from choices what a response is worth", reward_model_options,
                    train_reward_model);
  add_reward_model_options(*sub, reward_model_options);
  sub = preferences("dpo", "a GPT-2 learns from choices directly", dpo_options, dpo);
  add_dpo_options(*sub, dpo_options);

  ExpertIterationOptions expert_options;
  sub = command("expert-iteration", "a GPT-2 imitates those of its own answers that were right", [&](CLI::App& self) {
    read_configs(self, expert_options.common);
    expert_options.common.config = effective_yaml(self);
    return expert_iteration(expert_options);
  });
  add_expert_iteration_options(*sub, expert_options);

  EnvOptions env_options;
  sub = command("env", "a policy learns to act: CartPole, Pendulum, an arm", [&](CLI::App& self) {
    read_configs(self, env_options);
    state_recipe(self, config_of(env_options));
    env_options.config = effective_yaml(self);
    return run_env(env_options);
  });
  add_env_options(*sub, env_options);

  bool json = false;  // for the commands below
  const auto add_json = [&json](CLI::App& app) { app.add_flag("--json", json, "one JSON object instead of lines"); };
  std::string op;
  sub = command("gradcheck", "is every backward right? gradients against central differences",
                [&](CLI::App&) { return run_gradcheck(op, json); });
  add_json(*sub);
  sub->add_option("op", op, "one operation, sample by sample; default: all");

  std::vector<std::string> golden_paths;
  sub = command("golden", "replay cases made by PyTorch",
                [&](CLI::App&) { return run_golden(golden_paths, stdout, json); });
  add_json(*sub);
  sub->add_option("paths", golden_paths, "case files, or folders of them")->required();

  BenchOptions bench_options;
  sub = command("bench", "the speed of every op and of whole steps", [&](CLI::App&) { return bench(bench_options); });
  sub->add_option("--filter", bench_options.filter, "only what has this in its name");
  sub->add_option("--weights", bench_options.weights,
                  "weights and batch of the one model that --filter leaves: a file of tools/compare/compare_torch.py");
  sub->add_flag("--large", bench_options.large, "also what takes minutes and gigabytes: GPT-2 124M");
  sub->add_option("--dtype", bench_options.dtype, "of products, models and generation")
      ->transform(one_of({"f32", "bf16"}));
  sub->add_flag("--json", bench_options.json, "one JSON object instead of a table");
  add_machine_options(*sub, bench_options.device, bench_options.threads);
  sub->add_option("--repeat", bench_options.repeat, "samples; the median counts")->transform(whole(1));

  FetchOptions fetch_options;
  sub = command("fetch", "download the public data files", [&](CLI::App&) { return fetch(fetch_options); });
  sub->add_option("names", fetch_options.names, "files to get; all when none is named");
  sub->add_flag("--list", fetch_options.list, "show where each comes from and whether it is here");

  sub = command("doctor", "what the built engine sees; ends with `ready` or the first thing to do",
                [&](CLI::App&) { return doctor(json); });
  add_json(*sub);

  for (CLI::App* each : app.get_subcommands(nullptr)) parse_strictly(*each);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help
    std::ostringstream text;
    app.exit(e, text, text);
    fmt::print("{}", text.str());
    return 0;
  } catch (const CLI::ParseError& e) {
    pg::fail("{}", sentence(app, e));
  }
  return run();
}

}  // namespace

int main(int argc, char** argv) {
  return run_process([&] { return pg_command(argc, argv); });
}

#pragma once
// pg sft and pg rl: options, and what the two have in common.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <string>

#include "rl/rl_trainer.h"
#include "tasks/text_task.h"

namespace pg::tools {

// The task and the model that is to do it.
struct TextRlOptions {
  std::string task = "digits";
  TextTaskOptions task_options;
  std::string init;  // a run or checkpoint to begin with, else new weights
  int64_t layers = 2, heads = 4, width = 64;
  std::string out = "runs", name, config, resume, device = "cpu";
  int threads = 0;
  uint64_t seed = 1;
  int64_t eval_every = 0, eval_problems = 200, save_every = 50;
};

struct SftOptions {
  TextRlOptions common;
  int64_t steps = 150, batch = 128;
  double lr = 1e-3, min_lr = 1e-3, weight_decay = 0, clip = 1;
  int64_t warmup = 0;
};
int sft(const SftOptions& options);

struct RlOptions {
  TextRlOptions common;
  std::string algorithm = "grpo", explain;
  std::map<std::string, std::string> overrides;  // of the algorithm's fields, by name
  rl::RlConfig rl;                               // all but the algorithm
  std::string schedule = "constant";
  int64_t show_every = 0;  // steps between tables of samples; 0: only after the last
  int64_t sft_steps = 0, sft_batch = 128;
  double sft_lr = 1e-3;
};
int run_rl(const RlOptions& options);
// The preset with the overrides applied.
rl::Algorithm algorithm_of(const RlOptions& options);

void add_sft_options(CLI::App& app, SftOptions& options);
void add_rl_options(CLI::App& app, RlOptions& options);
// Makes the algorithm's choices the defaults of their options, so that a saved config states them.
void state_algorithm(CLI::App& app, const rl::Algorithm& algorithm);

// The task's model: from `init` if given.
std::unique_ptr<Gpt2> make_policy(const TextRlOptions& options, const TextTask& task);
// Texts that a checkpoint of a policy carries.
std::map<std::string, std::string> policy_texts(const TextRlOptions& options);

}  // namespace pg::tools

#pragma once
// pg sft, rl, reward-model, dpo and expert-iteration: their options and what they have in common.
#include <map>
#include <memory>
#include <string>

#include "rl/text/expert_iteration.h"
#include "rl/text/preferences.h"
#include "rl/text/trainer.h"
#include "tasks/text_task.h"

namespace CLI {
class App;
}

namespace pg::tools {

// The task and the model that is trained on it.
struct TextRlOptions {
  std::string task = "digits";
  TextTaskOptions task_options;
  std::string init;  // a run or checkpoint to start from; empty: new weights
  int64_t layers = 2, heads = 4, width = 64;
  std::string out = "runs", name, config, resume, device = "cpu";
  std::string dtype;  // empty: f32, or the dtype of `init`
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
  std::string reward_model;                      // a run of pg reward-model that gives the rewards instead of the task
  std::string reference_model;                   // a run whose model is the reference
  std::map<std::string, std::string> overrides;  // of the algorithm's fields, by name
  rl::RlConfig rl;                               // all fields except the algorithm
  std::string schedule = "constant";
  int64_t show_every = 0;  // steps between tables of samples; 0: only after the last step
  int64_t sft_steps = 0, sft_batch = 128;
  double sft_lr = 1e-3, sft_until = 0;
};
int run_rl(const RlOptions& options);
// The preset with the overrides applied.
rl::Algorithm algorithm_of(const RlOptions& options);

struct PreferenceOptions {
  TextRlOptions common;
  int64_t pairs = 2000, held_out = 500, steps = 200;
  double noise = 0;
  std::string kind = "sigmoid";           // dpo
  rl::PreferenceConfig preferences = {};  // all fields except the kind
};
int train_reward_model(const PreferenceOptions& options);
int dpo(const PreferenceOptions& options);
// The reward model that pg reward-model saved in a run's folder. Throws Error for a run of another kind or task.
struct RewardModel {
  std::unique_ptr<rl::ScalarModel> model;
  std::unique_ptr<rl::RewardModelJudge> judge;
};
RewardModel load_reward_model(const std::string& run, const TextTask& task, const Device& device);

struct ExpertIterationOptions {
  TextRlOptions common;
  int64_t iterations = 20;
  rl::ExpertIterationConfig config = {};
};
int expert_iteration(const ExpertIterationOptions& options);

void add_sft_options(CLI::App& app, SftOptions& options);
void add_rl_options(CLI::App& app, RlOptions& options);
void add_reward_model_options(CLI::App& app, PreferenceOptions& options);
void add_dpo_options(CLI::App& app, PreferenceOptions& options);
void add_expert_iteration_options(CLI::App& app, ExpertIterationOptions& options);
// Makes the algorithm's choices the defaults of their options, so that a saved config includes them.
void state_algorithm(CLI::App& app, const rl::Algorithm& algorithm);

// The task named by the options. A note about its text is written to standard error.
std::unique_ptr<TextTask> make_task(const TextRlOptions& options);
// The task's model: loaded from `init` if given, otherwise new.
std::unique_ptr<Gpt2> make_policy(const TextRlOptions& options, const TextTask& task);
// The model of a run or checkpoint, in `dtype` (empty: its own). Throws Error if its vocabulary is not the task's.
std::unique_ptr<Gpt2> load_policy(const std::string& run, const TextTask& task, const Device& device,
                                  const std::string& dtype);
// Metadata of a policy's checkpoint; `kind` is the command that writes it.
std::map<std::string, std::string> policy_texts(const TextTask& task, const std::string& kind);

}  // namespace pg::tools

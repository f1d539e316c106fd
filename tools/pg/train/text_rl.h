#pragma once
// What pg sft, rl, reward-model, dpo and expert-iteration have in common: a text task and the model trained on it.
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "nn/optim.h"
#include "nn/transformer.h"
#include "rl/text/preferences.h"
#include "tasks/puzzles/chat_task.h"
#include "tasks/text/text_task.h"
#include "tools/pg/cli/options.h"

namespace pg::tools {

struct TextRlOptions {
  RunOptions run;
  std::string task = "digits";
  TextTaskSetup setup;  // of the task, after choose_task()
  std::string init;     // a run or checkpoint to start from; empty: new weights
  TransformerConfig model = {.n_layer = 2, .n_head = 4, .n_embd = 64};
  std::string device = "cpu";
  std::optional<DType> dtype;  // none: f32, or the dtype of `init`
  LoraConfig lora;             // of pg sft and pg rl: adapters for the model of `init`
  std::string adapter;         // of the same: a folder of PEFT with adapters for that model
  std::string chat_template;   // if that model reads text by a byte-level tokenizer; empty: its own
  ChatTaskOptions chat;        // if the model of `init` reads text by a byte-level tokenizer
};
// All but the options of the task and those of adapter_fields().
std::vector<Field> fields(TextRlOptions& options);

std::vector<Field> adapter_fields(TextRlOptions& options);

// A command on a text task: besides `fields` it has the options of all tasks, and help that lists the tasks.
Command text_command(std::string name, std::string about, std::vector<Field> fields, std::function<int(Given&)> run);
// Reads the files, then sets the options of the task. Throws Error for an option of another task on the command line.
void choose_task(TextRlOptions& options, Given& given);

// The template of turns that --chat-template chooses in place of the model's. Error if the style of the prompt has no
// turns.
ChatTemplate chosen_template(const ChatTemplate& of_model, const std::string& option, const ChatTaskOptions& chat);
// The task with its options, in the words of the model of `init`. Error if that is a chat model and the answers of the
// task are not verified. A note about its text is written to standard error.
std::unique_ptr<TextTask> make_task(const TextRlOptions& options);
// The task's model: loaded from `init` if given, otherwise new with weights drawn from `seed`. With a rank in `lora` it
// has new adapters, drawn from `seed` too, with `adapter` those of that folder; and only they are trained.
std::unique_ptr<Transformer> make_policy(const TextRlOptions& options, const TextTask& task, uint64_t seed,
                                         const Device& device);
// The model of a run or checkpoint, in `dtype` (none: its own). Throws Error if its vocabulary is not the task's.
std::unique_ptr<Transformer> load_policy(const std::string& run, const TextTask& task, const Device& device,
                                         std::optional<DType> dtype);
// The model's sizes with a context no longer than the task needs, for estimates of memory.
TransformerConfig used_config(const Transformer& model, const TextTask& task);
// Adds adapters to a model that `owner` names in messages, unless the rank is 0. Error if it has some already, or for
// settings of adapters without a rank.
void add_adapters(Transformer& model, const LoraConfig& lora, const std::string& owner, uint64_t seed);
// "1234 parameters of FILE", the file that `init` stands for (nothing for a new model), and how many of the parameters
// are trained if these are adapters.
std::string parameter_text(Transformer& model, const std::string& init);
// The learning rate of a pretrained model unless --lr is given: 2e-5, or 2e-4 if adapters are trained. It is for models
// that read text by a byte-level tokenizer; the rate of a small model on a task would destroy what they know.
void settle_pretrained_lr(Schedule& schedule, const TextRlOptions& options, const Given& given);
inline constexpr const char* kPretrainedLr = "unless given, 2e-5 for a pretrained model, 2e-4 for its adapters";
// Metadata of a policy's checkpoint; `kind` is the command that writes it.
std::map<std::string, std::string> policy_texts(const TextRlOptions& options, const TextTask& task,
                                                const std::string& kind);

// The reward model that pg reward-model saved in a run's folder. Throws Error for a run of another kind or task.
struct RewardModel {
  std::unique_ptr<rl::ScalarModel> model;
  std::unique_ptr<rl::RewardModelJudge> judge;
};
RewardModel load_reward_model(const std::string& run, const TextTask& task, const Device& device);

}  // namespace pg::tools

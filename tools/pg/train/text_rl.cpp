// The text task and the model of sft, rl, reward-model, dpo and expert-iteration.
#include "tools/pg/train/text_rl.h"

#include <fmt/ranges.h>

#include <cmath>

#include "nn/config_json.h"
#include "nn/files/checkpoint.h"
#include "nn/variants/lora.h"
#include "rl/text/rollout.h"
#include "tensor/base/error.h"
#include "tools/pg/cli/model_options.h"
#include "tools/pg/cli/progress.h"
#include "tools/pg/run/run_dir.h"
#include "tools/pg/run/run_model.h"

namespace pg::tools {
namespace {

// The options of all tasks, each name once. Tasks may give an option different meanings and ranges: help states each,
// and choose_task() checks the range of the chosen task.
std::vector<Field> options_of_tasks() {
  static const std::vector<TextTaskSetup> setups = [] {
    std::vector<TextTaskSetup> all;
    for (const TextTaskRow& row : text_tasks()) all.push_back(row.setup());
    return all;
  }();
  struct Meaning {
    std::string option, text;
    std::vector<std::string> tasks;
  };
  std::vector<Meaning> meanings;
  std::vector<Field> options;
  for (size_t i = 0; i < setups.size(); ++i) {
    for (const Field& field : setups[i].fields) {
      const std::string allowed = field.allowed();
      const std::string text = fmt::format("{}{}{}{}{}", field.about, allowed.empty() ? "" : " ", allowed,
                                           field.text().empty() ? "" : ", default ", field.text());
      auto same = std::find_if(meanings.begin(), meanings.end(),
                               [&](const Meaning& m) { return m.option == field.name && m.text == text; });
      if (same == meanings.end()) same = meanings.insert(same, {field.name, text, {}});
      same->tasks.push_back(text_tasks()[i].name);
      const bool is_new =
          std::none_of(options.begin(), options.end(), [&](const Field& f) { return f.name == field.name; });
      if (is_new) options.push_back({field.name, field.value, ""});
    }
  }
  for (Field& option : options) {
    for (const Meaning& m : meanings) {
      if (m.option != option.name) continue;
      option.about += fmt::format("{}{}: {}", option.about.empty() ? "" : "; ", fmt::join(m.tasks, ", "), m.text);
    }
  }
  return options;
}

void check_adapters(const LoraConfig& lora) {
  check(lora.rank > 0 || lora == LoraConfig{}, "--lora-alpha, --lora-dropout and --lora-targets need --lora-rank");
}

bool has_field(const std::vector<Field>& fields, const std::string& name) {
  return std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
}

}  // namespace

std::vector<Field> fields(TextRlOptions& o) {
  return joined(
      {fields(o.run),
       {device_field(o.device)},
       titled("Task and prompt", joined({{{"task", one_of(o.task, names_of(text_tasks())), "what is learned"}},
                                         fields(o.chat),
                                         {chat_template_field(o.chat_template)}})),
       titled("Model", {{"init", &o.init,
                         "a run or checkpoint to begin with, or a pretrained chat model; it decides layers, heads and "
                         "width"},
                        dtype_field(o.dtype)}),
       size_fields(o.model)});
}

std::vector<Field> adapter_fields(TextRlOptions& o) {
  return titled("Adapters", joined({fields(o.lora), {adapter_field(o.adapter)}}));
}

Command text_command(std::string name, std::string about, std::vector<Field> fields, std::function<int(Given&)> run) {
  std::string notes = "Tasks:\n";
  size_t width = 0;
  for (const TextTaskRow& row : text_tasks()) width = std::max(width, row.name.size() + 2);
  for (const TextTaskRow& row : text_tasks()) notes += fmt::format("  {:<{}}{}\n", row.name, width, row.about);
  return {.name = std::move(name),
          .about = std::move(about),
          .fields = std::move(fields),
          .run = std::move(run),
          .changes = {{"Options of the task", options_of_tasks(), /*explained=*/true}},
          .notes = notes};
}

void choose_task(TextRlOptions& o, Given& given) {
  read_files(given, o.run);
  o.setup = find_row(text_tasks(), "--task", o.task).setup();
  const std::vector<std::string> known = names_of(o.setup.fields);
  for (const Field& option : options_of_tasks()) {
    check(has_field(o.setup.fields, option.name) || !given.on_command_line(option.name),
          "the task {} has no option --{}; its options are: {}", o.task, option.name,
          known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
  }
  given.apply(o.setup.fields);
}

ChatTemplate chosen_template(const ChatTemplate& of_model, const std::string& option, const ChatTaskOptions& chat) {
  const PromptStyle& style = find_row(prompt_styles(), "--prompt-style", chat.prompt.style);
  check(style.chat || option.empty(),
        "--chat-template is for turns, and --prompt-style {} has none; leave one of them out", style.name);
  return of_model.chosen(option);
}

std::unique_ptr<TextTask> make_task(const TextRlOptions& o) {
  const std::optional<ChatFormat> chat = o.init.empty() ? std::nullopt : chat_format_of(o.init);
  std::vector<std::string> known;
  for (const PuzzleRow& row : puzzle_tasks()) known.push_back(row.name);
  check(!chat || o.setup.puzzles, "{} is a pretrained model, which has the tasks {}; --task is {}", o.init,
        fmt::join(known, ", "), o.task);
  check(chat || o.chat_template.empty(), "--chat-template {} is for a pretrained chat model; {} reads characters",
        o.chat_template, o.init.empty() ? "a new model" : o.init);
  check(chat || o.chat.prompt.style == PromptOptions{}.style,
        "--prompt-style {} is for a pretrained model; {} reads characters, each task in its own short form",
        o.chat.prompt.style, o.init.empty() ? "a new model" : o.init);
  ChatTaskOptions options = o.chat;
  if (chat && options.max_prompt == 0) options.max_prompt = std::max<int64_t>(0, chat->context - options.response);
  auto task = chat ? chat_task(o.setup.puzzles(), chat->tokenizer,
                               chosen_template(chat->format, o.chat_template, o.chat), options)
                   : o.setup.make();
  if (const std::string note = task->note(); !note.empty()) remark(stderr, "{}\n", note);
  return task;
}

std::unique_ptr<Transformer> load_policy(const std::string& run, const TextTask& task, const Device& device,
                                         std::optional<DType> dtype) {
  if (!pretrained_path(run).empty()) {
    RunModel m = load_run_model(run, device, {.dtype = dtype.value_or(f32)});
    check(m.tokenizer->to_json() == task.tokenizer().to_json(), "{}: its tokenizer is not that of the policy", run);
    return without_unused_rows(std::move(m.model), task.vocab_size());
  }
  const Checkpoint checkpoint = load_checkpoint(checkpoint_of(run));
  const std::string vocabulary = tokenizer_of(checkpoint)->to_json();
  check(vocabulary == task.tokenizer().to_json(),
        "{}: its vocabulary is not that of the task {}: the model knows {:.200}, the task needs {:.200}", run,
        task.name(), vocabulary, task.tokenizer().to_json());
  TransformerConfig config = checkpoint.model_config();
  config.dtype = dtype.value_or(config.dtype);
  Generator unused(0);
  auto policy = std::make_unique<Transformer>(config, unused);
  checkpoint.restore(*policy);
  policy->to(device);
  return without_unused_rows(std::move(policy), task.vocab_size());
}

TransformerConfig used_config(const Transformer& model, const TextTask& task) {
  TransformerConfig config = model.config;
  config.block_size = std::min(config.block_size, rl::block_size_for(task));
  return config;
}

void add_adapters(Transformer& model, const LoraConfig& lora, const std::string& owner, uint64_t seed) {
  check_adapters(lora);
  if (lora.rank == 0) return;
  check(model.config.lora.rank == 0,
        "{}: its model has adapters of rank {} already; without --lora-rank they are trained further", owner,
        model.config.lora.rank);
  Generator init(seed);
  add_lora(model, lora, init);
}

std::unique_ptr<Transformer> make_policy(const TextRlOptions& o, const TextTask& task, uint64_t seed,
                                         const Device& device) {
  check_adapters(o.lora);
  check(o.lora.rank == 0 || !o.init.empty(),
        "--lora-rank needs --init RUN: adapters change a trained model, and new weights would stay as they are");
  check(o.adapter.empty() || !o.init.empty(), "--adapter needs --init RUN, the model that its adapters belong to");
  if (!o.init.empty()) {
    auto policy = load_policy(o.init, task, device, o.dtype);
    load_adapter(*policy, o.init, o.adapter);
    add_adapters(*policy, o.lora, o.init, seed);
    return policy;
  }
  TransformerConfig config = o.model;
  config.vocab_size = task.vocab_size();
  config.block_size = rl::block_size_for(task);
  config.in_proj_std = 1 / std::sqrt(static_cast<double>(config.n_embd));
  config.dtype = o.dtype.value_or(f32);
  check_model_memory(config);
  Generator init(seed);
  auto policy = std::make_unique<Transformer>(config, init);
  policy->to(device);
  return policy;
}

std::string parameter_text(Transformer& model, const std::string& init) {
  const std::string pretrained = init.empty() ? "" : pretrained_path(init);
  std::string text = fmt::format("{} parameters", count_parameters(model));
  if (!init.empty()) text += fmt::format(" of {}", pretrained.empty() ? init : pretrained);
  if (model.config.lora.rank == 0) return text;
  return fmt::format("{}, of which {:.0f} in adapters are trained", text, lora_parameters(model.config));
}

void settle_pretrained_lr(Schedule& schedule, const TextRlOptions& o, const Given& given) {
  if (given.has("lr")) return;
  schedule.lr = o.lora.rank > 0 || !o.adapter.empty() ? 2e-4 : 2e-5;
}

std::map<std::string, std::string> policy_texts(const TextRlOptions& o, const TextTask& task, const std::string& kind) {
  std::map<std::string, std::string> texts = task.metadata();
  ChatTaskOptions chat = o.chat;
  if (dynamic_cast<const BpeTokenizer*>(&task.tokenizer())) texts["chat_options"] = to_json(fields(chat));
  texts.insert({{"kind", kind},
                {"task", task.name()},
                {"task_options", to_json(o.setup.fields)},
                {"tokenizer", task.tokenizer().to_json()},
                {"prompt", example_prompt(task)}});
  return texts;
}

}  // namespace pg::tools

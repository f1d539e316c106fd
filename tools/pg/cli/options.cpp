// The command line: options from lists of fields, help, and errors as one sentence.
#include "tools/pg/cli/options.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "tasks/chat/chat.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/commands.h"

namespace pg::tools {
namespace {

// Marks a text that begins with "-" and is no option, as the answer -\frac12: the parser of the command line takes
// every "-" before a character that is no digit for an option. own_text() removes the mark.
constexpr char kTextMark = '\x01';
std::string marked_text(std::string text) {
  const bool formula = text.size() > 1 && text[0] == '-' && text[1] != '-' &&
                       text.find_first_of("\\^+(){}|$*,; ", 1) != std::string::npos;
  return formula || text.starts_with(kTextMark) ? kTextMark + text : text;
}
std::string own_text(const std::string& text) { return text.starts_with(kTextMark) ? text.substr(1) : text; }

// "whole number" and so on, for help.
std::string type_of(const Field& field) {
  return std::visit(
      [](const auto& v) -> std::string {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, NamedValue>) return "NAME";
        if constexpr (std::is_same_v<V, std::string*>) return "TEXT";
        if constexpr (std::is_same_v<V, bool*>) return "true|false";
        return std::is_same_v<V, double*> ? "NUMBER" : "INTEGER";
      },
      field.value);
}

constexpr size_t kNames = 30;  // the column where the names of options end

// Lines of at most 70 bytes beside the names.
std::string wrapped(const std::string& text) {
  constexpr size_t width = 70;
  std::string lines;
  size_t length = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (length > 0 && length + 1 + end - begin > width) {
      lines += '\n';
      length = 0;
    } else if (length > 0) {
      lines += ' ';
      ++length;
    }
    lines.append(text, begin, end - begin);
    length += end - begin;
    begin = end + 1;
  }
  return lines;
}

// `allowed`: what help says after the field's `about`.
void add_field(CLI::App& app, const Field& field, const std::string& group, const std::string& allowed,
               bool shows_default) {
  const std::string help = wrapped(allowed.empty() ? field.about : field.about + " " + allowed);
  if (field.is_flag) {
    app.add_flag("--" + field.name, help)->group(group);
    return;
  }
  const auto refusal = [field](const std::string& text) { return field.refusal(own_text(text)); };
  CLI::Option* option = app.add_option_function<std::string>(
      "--" + field.name, [](const std::string&) {}, help);
  option->group(group)->type_name(type_of(field))->check(CLI::Validator(refusal, ""));
  if (shows_default) option->default_str(field.text());
}

void add_argument(CLI::App& app, const Argument& argument) {
  std::visit(
      [&](auto* value) {
        CLI::Option* option =
            app.add_option(argument.name, *value, wrapped(argument.about))->required(argument.required);
        option->transform([](const std::string& text) { return own_text(text); });
        if (argument.name.starts_with("-")) option->allow_extra_args(false);
      },
      argument.value);
}

void add_command(CLI::App& app, const Command& command, const std::string& group) {
  CLI::App* sub = app.add_subcommand(command.name, command.about)->group(group);
  for (const Argument& argument : command.arguments) add_argument(*sub, argument);
  for (const Field& field : command.fields) {
    add_field(*sub, field, field.group.empty() ? "Options" : field.group, field.allowed(), true);
  }
  for (const Changes& changes : command.changes) {
    for (const Field& field : changes.fields) {
      add_field(*sub, field, changes.title, changes.explained ? "" : field.allowed(), false);
    }
  }
  sub->footer(command.notes);
}

// Takes the explanations of all but the usual options out of help, which then ends with their names.
void shorten_help(CLI::App& sub, const Command& command) {
  if (command.usual.empty()) return;
  std::vector<std::string> usual = command.usual;
  std::vector<std::pair<std::string, std::string>> others;  // headings, and the names under them
  for (CLI::Option* option : sub.get_options()) {
    if (option->get_lnames().empty() || option->get_group() == "Positionals" || option == sub.get_help_ptr() ||
        option == sub.get_help_all_ptr())
      continue;
    const std::string name = option->get_lnames()[0], heading = option->get_group();
    if (std::erase(usual, name) > 0) continue;
    const auto same = std::find_if(others.begin(), others.end(), [&](const auto& o) { return o.first == heading; });
    std::string& names = same == others.end() ? others.emplace_back(heading, "").second : same->second;
    names += (names.empty() ? "--" : " --") + name;
    option->group("");
  }
  check(usual.empty(), "pg {}: the usual options {} are none of its options", command.name, fmt::join(usual, ", "));
  std::string text = fmt::format("Other options, which `pg {} --help-all` explains:\n", command.name);
  for (const auto& [heading, names] : others) {
    std::string lines = wrapped(names);
    for (size_t end = 0; (end = lines.find('\n', end)) != std::string::npos; ++end) lines.insert(end + 1, kNames, ' ');
    text += fmt::format("  {:<{}}{}\n", heading, kNames - 2, lines);
  }
  sub.footer(text + "\n" + command.notes);
}

// What other programs call the commands of pg, and what pg has in their place.
const std::map<std::string, std::string>& elsewhere() {
  static const std::map<std::string, std::string> rows = {
      {"generate", "pg sample continues a text, pg chat answers a message"},
      {"run", "pg chat talks with a model, pg sample continues a text"},
      {"complete", "pg sample continues a text"},
      {"serve", "pg has no server; pg chat MODEL --prompt TEXT --json answers one message"},
      {"server", "pg has no server; pg chat MODEL --prompt TEXT --json answers one message"},
      {"pretrain", "pg train trains on texts"},
      {"finetune", "pg sft imitates the answers of a file"},
      {"lora", "pg sft --lora-rank 16 trains adapters"},
      {"grpo", "pg rl --algorithm grpo learns from rewards"},
      {"ppo", "pg rl --algorithm ppo learns from rewards"},
      {"convert",
       "pg export writes a model for transformers; GGUF files and Hugging Face folders are read as they are"},
      {"quantize", "pg writes no quantized files; --int8 holds weights as 8-bit integers while it runs"},
      {"scale", "tools/compare/scale.py computes what a model of links and memory expects of many GPUs"},
      {"download", "pg fetch downloads the texts and models that pg knows"},
      {"pull", "pg fetch downloads the texts and models that pg knows"},
      {"evaluate", "pg eval measures a model"}};
  return rows;
}

// The error of a command line, as one sentence.
std::string sentence(const CLI::App& app, const std::vector<Command>& all, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::vector<std::string> commands, options, rest = app.remaining(/*recurse=*/true);
  for (std::string& text : rest) text = own_text(text);
  for (const CLI::App* sub : app.get_subcommands(nullptr)) commands.push_back(sub->get_name());
  const CLI::App& current = chosen.empty() ? app : *chosen.front();
  for (const CLI::Option* option : current.get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back(name);
  }
  const std::string name = chosen.empty() ? "pg" : "pg " + current.get_name();
  if (!rest.empty() && rest.front().starts_with("-")) {
    const std::string option = rest.front().substr(0, rest.front().find('='));
    const std::string bare = option.substr(std::min(option.size(), option.find_first_not_of('-')));
    const bool text = option.size() > 1 && option[1] != '-';
    if (!chosen.empty()) {
      const std::string now = renamed(all_fields(find_row(all, "command", current.get_name())), bare);
      if (!now.empty()) return fmt::format("{}: the option {} is {} now", name, option, now);
    }
    return fmt::format("{} has no option {}{}; `{} --help` lists them{}", name, option, did_you_mean(bare, options),
                       name, text ? "; a text that begins with - stands behind --" : "");
  }
  const std::string known = fmt::format("known are {}", fmt::join(commands, ", "));
  if (chosen.empty() && !rest.empty()) {
    std::string hint = did_you_mean(rest.front(), commands);
    if (const auto row = elsewhere().find(rest.front()); row != elsewhere().end()) hint = "; " + row->second;
    return fmt::format("there is no command {}{}; {}", rest.front(), hint, known);
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

// The texts that the command line gives for the fields of a command.
std::map<std::string, std::string> given_texts(const CLI::App& sub, const Command& command) {
  std::map<std::string, std::string> given, texts;
  for (const CLI::Option* option : sub.get_options()) {  // get_option() copies all names, and may not run out of memory
    if (option->count() == 0) continue;
    for (const std::string& name : option->get_lnames()) given[name] = option->results().back();
  }
  for (const Field& field : all_fields(command)) {
    if (given.contains(field.name)) texts[field.name] = own_text(given.at(field.name));
  }
  return texts;
}

}  // namespace

int run_command(const std::vector<CommandGroup>& groups, int argc, char** argv) {
  CLI::App app{"policygrad: train and try models, check and measure the engine"};
  app.name("pg");
  app.set_version_flag("-v,--version", fmt::format("pg {}", version()));
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Explain all options");
  app.option_defaults()->always_capture_default();
  std::vector<Command> commands;
  for (const CommandGroup& group : groups) {
    for (const Command& command : group.commands) {
      add_command(app, command, group.title);
      commands.push_back(command);
    }
  }
  std::vector<std::string> texts(argv + 1, argv + argc);
  // `pg help`, `pg help train` and `pg version` are other spellings of options.
  if (texts == std::vector<std::string>{"version"}) texts = {"--version"};
  if (!texts.empty() && texts[0] == "help") {
    texts.erase(texts.begin());
    texts.push_back("--help");
  }
  std::transform(texts.begin(), texts.end(), texts.begin(), marked_text);
  std::reverse(texts.begin(), texts.end());  // CLI11 takes the last one first
  try {
    app.parse(std::move(texts));
  } catch (const CLI::Success& e) {  // --help, --help-all or --version
    if (dynamic_cast<const CLI::CallForHelp*>(&e)) {
      for (CLI::App* sub : app.get_subcommands()) {
        shorten_help(*sub, find_row(commands, "command", sub->get_name()));
      }
    }
    std::ostringstream text;
    app.exit(e, text, text);
    std::string help = text.str();  // with one empty line between groups
    for (size_t at = 0; (at = help.find("\n\n\n", at)) != std::string::npos;) help.erase(at, 1);
    fmt::print("{}", help);
    return 0;
  } catch (const CLI::ParseError& e) {
    fail("{}", sentence(app, commands, e));
  }
  const CLI::App& sub = *app.get_subcommands().front();
  const Command& command = find_row(commands, "command", sub.get_name());
  Given given(command, given_texts(sub, command));
  return command.run(given);
}

Field flag(std::string name, bool& value, std::string about) {
  return {.name = std::move(name), .value = &value, .about = std::move(about), .is_flag = true};
}
Field not_in_files(Field field) {
  field.in_files = false;
  return field;
}

std::vector<Field> fields(RunOptions& o) {
  return {not_in_files({"config", &o.config_file, "a YAML file with these options; the command line wins over it"}),
          {"name", &o.name, "name of the run; empty: what it does"},
          {"out", &o.out, "folder of all runs"},
          threads_field(o.threads),
          not_in_files({"resume", &o.resume, "continue the run in this folder, bit for bit"})};
}

Field threads_field(int& threads) { return {"threads", &threads, "threads; 0: one per core", whole_from(0, 1024)}; }
Field device_field(std::string& device) { return {"device", &device, "cpu, plain, cuda or cuda:1"}; }
Field exact_field(bool& exact) {
  return flag("exact", exact, "on a GPU: a token has the same log-probability sampled and trained on, bit for bit");
}
Field best_field(bool& best) {
  return flag("best", best, "take the checkpoint of the lowest validation loss instead of the last one");
}
Field adapter_field(std::string& folder) {
  return {"adapter", &folder, "a folder of PEFT whose adapters the model gets (LoRA); it has none of its own"};
}
Field int8_field(bool& int8) {
  return flag("int8", int8, "hold weights as 8-bit integers, and print how the probabilities change");
}
Field profile_field(bool& profile) {
  return not_in_files(flag("profile", profile, "end with a table of where the time went, and the memory of a step"));
}
Field json_field(bool& json, std::string about) { return not_in_files(flag("json", json, std::move(about))); }

Field dtype_field(std::optional<DType>& dtype) {
  return {"dtype", named_field<std::optional<DType>>(dtype, {{"", {}}, {"f32", f32}, {"bf16", bf16}}),
          "type of weights and activations; empty: that of the model, f32 for a new or a pretrained one"};
}
Field chat_template_field(std::string& name) {
  return {"chat-template", &name,
          fmt::format("the format of turns ({}, or a file that ends in .jinja); empty: that of the model",
                      fmt::join(names_of(chat_templates()), ", "))};
}

NamedValue float_type(DType& dtype) { return named_field<DType>(dtype, {{"f32", f32}, {"bf16", bf16}}); }

}  // namespace pg::tools

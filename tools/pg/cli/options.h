#pragma once
// Commands and their options. An option is a field of a configuration (tensor/base/fields.h): the command line, YAML
// files, config.yaml and --help follow from the list of fields. Only options.cpp includes CLI11.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensor/base/fields.h"
#include "tensor/dtype.h"

namespace pg::tools {

class Given;

// An argument without a name, or an option that may be given several times ("--stop").
struct Argument {
  std::string name;  // "run"
  std::variant<std::string*, std::vector<std::string>*> value;
  std::string about;
  bool required = true;
};

// Options that change single values of a preset. They have no default of their own: their texts are checked and kept
// until the command knows the preset and calls Given::apply().
struct Changes {
  std::string title;  // for help
  std::vector<Field> fields;
  bool explained = false;  // the fields' `about` says what is allowed, so help does not add it
};

// A command of pg. The fields and arguments point into its configuration, which `run` keeps alive.
struct Command {
  std::string name, about;
  std::vector<Field> fields;       // an option --NAME each
  std::function<int(Given&)> run;  // called when the fields are set; returns the exit status
  std::vector<Argument> arguments = {};
  std::vector<Changes> changes = {};
  std::string notes = {};  // the end of help
  // The options that --help explains; it only names the others, and --help-all explains all. Empty: all.
  std::vector<std::string> usual = {};
};

// Its fields, and those that change a preset.
std::vector<Field> all_fields(const Command& command);

// Commands that stand together in help.
struct CommandGroup {
  std::string title;
  std::vector<Command> commands;
};

// Runs the command that the command line names: sets its fields and arguments, then calls run(). --help, --help-all and
// --version print text instead. Throws Error, one sentence, for a wrong command line.
int run_command(const std::vector<CommandGroup>& groups, int argc, char** argv);

// What the command line and files say about the options of a command. The command line wins over files.
class Given {
 public:
  // `texts`: what the command line says, by option.
  Given(const Command& command, std::map<std::string, std::string> texts);

  // Sets the options that the YAML file at `path` names and that are not given yet. Its lines have the form "key:
  // value"; a key is an option's name. Throws Error with the file and the line for a key that is no option or is given
  // twice, for a value that the option refuses, and for a second document. `of_run`: an earlier version may have
  // written the file, so former names of options count too.
  void read(const std::string& path, bool of_run = false);
  // The text of an option that is given.
  const std::string& text(const std::string& option) const { return texts_.at(option); }
  // Sets an option that is not given yet, as a file would.
  void fall_back(const std::string& option, const std::string& text) {
    if (!has(option)) set(option, text);
  }
  const std::string& command() const { return command_.name; }
  bool has(const std::string& option) const { return texts_.contains(option); }
  bool on_command_line(const std::string& option) const { return from_command_line_.contains(option); }
  // Sets those of the fields that are given, for example after a preset has replaced all of them.
  void apply(const std::vector<Field>& fields) const;
  // The fields as YAML that read() accepts, after a comment with the command.
  std::string yaml(const std::vector<Field>& fields) const;

 private:
  const Field* find(const std::string& option) const;
  void set(const std::string& option, const std::string& text);

  const Command& command_;
  std::map<std::string, std::string> texts_, from_command_line_;
};

// The options of every command that makes a run.
struct RunOptions {
  std::string name = {};         // of the run; empty: the command chooses
  std::string resume = {};       // the folder of a run to continue
  std::string config_file = {};  // a YAML file with options
  std::string out = "runs";
  int threads = 0;          // 0: one per core
  std::string config = {};  // every option in effect, as YAML, stored in the run's folder
};
std::vector<Field> fields(RunOptions& options);
// Reads --config and the config.yaml of --resume.
void read_files(Given& given, const RunOptions& options);

// An option that is false unless its name is given.
Field flag(std::string name, bool& value, std::string about);
// The same option, but not in files: an order to the program instead of a setting of the run.
Field not_in_files(Field field);
// Options that several commands have.
Field threads_field(int& threads);
Field device_field(std::string& device);
Field exact_field(bool& exact);
Field best_field(bool& best);
Field adapter_field(std::string& folder);
Field int8_field(bool& int8);
Field profile_field(bool& profile);
Field json_field(bool& json, std::string about = "write one JSON object instead of lines");
// The type of the weights: f32, bf16 or none, which is the model's own, f32 for a pretrained one.
Field dtype_field(std::optional<DType>& dtype);
// The name of a chat template (tasks/chat/chat.h), or a file.
Field chat_template_field(std::string& name);
// f32 or bf16.
NamedValue float_type(DType& dtype);

// The `key: value` lines of a run's config.yaml; empty if there is no such file or it cannot be read.
std::map<std::string, std::string> config_values(const std::string& path);

}  // namespace pg::tools

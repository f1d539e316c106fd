#pragma once
// YAML files as a source of command-line options: one key per option, with the option's name on the command line.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>

namespace pg::tools {

// Sets every option of `app` that is not on the command line to its value in the file: the command line overrides the
// file, and the file overrides the default. Call it after parsing. Throws Error, naming the file and the line, for a
// key that is no option or is given twice, for a value that does not fit its option, and for a second document.
void apply_yaml(CLI::App& app, const std::string& path);

// Every option with the value in effect, as a file that apply_yaml reads. Its first line is a comment with the command.
// The app's defaults must have been captured (always_capture_default).
std::string effective_yaml(const CLI::App& app);

// If neither the command line nor a file sets the option, `followed` becomes its value and its default.
template <class T>
void follow(CLI::App& app, const std::string& name, T& value, T followed) {
  if (app.get_option(name)->count() > 0) return;
  value = followed;
  app.get_option(name)->default_str(fmt::format("{}", followed));
}

// The `key: value` lines of a run's config.yaml; empty if there is no such file or it cannot be read.
std::map<std::string, std::string> config_values(const std::string& path);

}  // namespace pg::tools

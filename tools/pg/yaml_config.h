#pragma once
// YAML files as a source of command-line options: one key per option, named as on the command line.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <string>

namespace pg::tools {

// Gives every option of `app` that the command line left out the value that the file has for it; so the command line
// wins over the file, and the file over the default. Call after parsing. Error for a key that is no option or
// is given twice, for a value that does not fit its option, and for a second document; it names the file and the line.
void apply_yaml(CLI::App& app, const std::string& path);

// Every option with the value in effect, as a file that apply_yaml reads; its first line is a comment
// with the command. The app's defaults must have been captured
// (always_capture_default).
std::string effective_yaml(const CLI::App& app);

// Makes `followed` the value and the default of an option that neither the command line nor a file gave.
template <class T>
void follow(CLI::App& app, const std::string& name, T& value, T followed) {
  if (app.get_option(name)->count() > 0) return;
  value = followed;
  app.get_option(name)->default_str(fmt::format("{}", followed));
}

// The `key: value` lines of a run's config.yaml; none when there is no such file or it cannot be read.
std::map<std::string, std::string> config_values(const std::string& path);

}  // namespace pg::tools

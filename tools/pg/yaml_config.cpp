// Reads and writes options as YAML.
#include "tools/pg/yaml_config.h"

#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <map>
#include <vector>

#include "tasks/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg::tools {

namespace {

// Options that a file may set: not --help, and not those that name files to read options from.
std::vector<const CLI::Option*> file_options(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return option->get_configurable() && !option->get_lnames().empty(); });
}

// The single document of the file.
YAML::Node load(const std::string& path) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(read_file(path));
    if (documents.empty()) return {};
    if (documents.size() > 1) {
      fail("config {}: line {}: a second document begins; expected one", path, documents[1].Mark().line + 1);
    }
    return documents.front();
  } catch (const YAML::Exception& e) {
    fail("config {}: line {}: {}", path, e.mark.line + 1, e.msg);
  }
}

}  // namespace

void apply_yaml(CLI::App& app, const std::string& path) {
  const YAML::Node root = load(path);
  if (root.IsNull()) return;
  check(root.IsMap(), "config {}: expected lines of the form `key: value`", path);
  std::map<std::string, int> lines;  // line of each key read so far
  for (const auto& entry : root) {
    const int line = entry.first.Mark().line + 1;
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    CLI::Option* option = key.empty() ? nullptr : app.get_option_no_throw("--" + key);
    if (option == nullptr || !option->get_configurable()) {
      std::vector<std::string> known;
      for (const auto* o : file_options(app)) known.push_back(o->get_lnames().front());
      fail("config {}: line {}: unknown option '{}' for `pg {}`{}; known are: {}", path, line, key, app.get_name(),
           did_you_mean(key, known), fmt::join(known, " "));
    }
    const auto [first, is_new] = lines.emplace(key, line);
    check(is_new, "config {}: line {}: '{}' is given a second time, after line {}", path, line, key, first->second);
    check(entry.second.IsScalar(), "config {}: line {}: {} needs one value", path, line, key);
    if (option->count() > 0) continue;
    try {
      option->add_result(entry.second.Scalar());
      option->run_callback();
    } catch (const CLI::ParseError& e) {
      fail("config {}: line {}: {}", path, line, e.what());
    }
  }
}

std::map<std::string, std::string> config_values(const std::string& path) {
  std::map<std::string, std::string> values;
  try {
    for (const auto& entry : load(path)) {
      if (entry.first.IsScalar() && entry.second.IsScalar()) values[entry.first.Scalar()] = entry.second.Scalar();
    }
  } catch (const Error&) {
    return {};
  }
  return values;
}

std::string effective_yaml(const CLI::App& app) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const auto* option : file_options(app)) {
    const std::string value = option->count() > 0 ? option->results().back() : option->get_default_str();
    out << YAML::Key << option->get_lnames().front() << YAML::Value;
    if (value.empty())
      out << YAML::DoubleQuoted << value;
    else
      out << value;
  }
  out << YAML::EndMap;
  return fmt::format("# pg {}\n{}\n", app.get_name(), out.c_str());
}

}  // namespace pg::tools

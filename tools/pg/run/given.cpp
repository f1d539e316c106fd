// What is given for a command's options: YAML files, presets, and the config.yaml of a run.
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <sstream>

#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/text.h"
#include "tools/pg/cli/options.h"
#include "tools/pg/run/run_dir.h"

namespace pg::tools {
namespace {

// Notes where documents begin.
struct Documents : YAML::EventHandler {
  std::vector<int> lines;

  void OnDocumentStart(const YAML::Mark& mark) override { lines.push_back(mark.line + 1); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// The single document of the file.
YAML::Node load(const std::string& path) {
  const std::string text = read_file(path);
  check(is_utf8(text), "config {}: expected UTF-8, it has bytes that are none", path);
  try {
    // Two at most: yaml-cpp finds one document after the other in a text such as ", n", without an end.
    std::istringstream in(text);
    YAML::Parser parser(in);
    Documents documents;
    while (documents.lines.size() < 2 && parser.HandleNextDocument(documents)) continue;
    if (documents.lines.size() > 1) {
      fail("config {}: line {}: a second document begins; expected one", path, documents.lines[1]);
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& e) {
    fail("config {}: line {}: {}", path, e.mark.line + 1, e.msg);
  }
}

const Field* find_in(const std::vector<Field>& fields, const std::string& name) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace

std::vector<Field> all_fields(const Command& command) {
  std::vector<Field> all = command.fields;
  for (const Changes& changes : command.changes) all.insert(all.end(), changes.fields.begin(), changes.fields.end());
  return all;
}

Given::Given(const Command& command, std::map<std::string, std::string> texts)
    : command_(command), from_command_line_(std::move(texts)) {
  for (const auto& [option, text] : from_command_line_) set(option, text);
}

const Field* Given::find(const std::string& option) const {
  if (const Field* field = find_in(command_.fields, option)) return field;
  for (const Changes& changes : command_.changes) {
    if (const Field* field = find_in(changes.fields, option)) return field;
  }
  return nullptr;
}

void Given::set(const std::string& option, const std::string& text) {
  const Field* field = find(option);
  // An empty text for a change leaves the preset's value, as in the config.yaml of an older version.
  const bool is_change = find_in(command_.fields, option) == nullptr;
  if (is_change && text.empty()) return;
  const std::string why = field->refusal(text);
  check(why.empty(), "--{}: {}", option, why);
  if (!is_change) field->set(text);
  texts_[option] = text;
}

void Given::apply(const std::vector<Field>& fields) const {
  for (const Field& field : fields) {
    const auto found = texts_.find(field.name);
    if (found == texts_.end()) continue;
    const std::string why = field.refusal(found->second);
    check(why.empty(), "--{}: {}", field.name, why);
    field.set(found->second);
  }
}

void Given::read(const std::string& path, bool of_run) {
  const YAML::Node root = load(path);
  if (root.IsNull()) return;
  check(root.IsMap(), "config {}: expected lines of the form `key: value`", path);
  std::map<std::string, int> lines;  // line of each key read so far
  const std::vector<Field> fields = all_fields(command_);
  for (const auto& entry : root) {
    const int line = entry.first.Mark().line + 1;
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    std::vector<std::string> options;  // those that the key sets
    for (const Field& f : fields) {
      const bool was = of_run && std::find(f.former.begin(), f.former.end(), key) != f.former.end();
      if (f.in_files && (f.name == key || was)) options.push_back(f.name);
    }
    if (options.empty()) {
      const std::string now = renamed(fields, key);
      check(now.empty(), "config {}: line {}: the option '{}' is {} now", path, line, key, now);
      std::vector<std::string> known;
      for (const Field& f : fields) {
        if (f.in_files) known.push_back(f.name);
      }
      fail("config {}: line {}: unknown option '{}' for `pg {}`{}; known are: {}", path, line, key, command_.name,
           did_you_mean(key, known), fmt::join(known, " "));
    }
    const auto [first, is_new] = lines.emplace(key, line);
    check(is_new, "config {}: line {}: '{}' is given a second time, after line {}", path, line, key, first->second);
    check(entry.second.IsScalar(), "config {}: line {}: {} needs one value", path, line, key);
    try {
      for (const std::string& option : options) fall_back(option, entry.second.Scalar());
    } catch (const Error& e) {
      fail("config {}: line {}: {}", path, line, e.what());
    }
  }
}

std::string Given::yaml(const std::vector<Field>& fields) const {
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const Field& field : fields) {
    if (!field.in_files) continue;
    const std::string text = field.text();
    out << YAML::Key << field.name << YAML::Value;
    if (text.empty())
      out << YAML::DoubleQuoted << text;
    else
      out << text;
  }
  out << YAML::EndMap;
  return fmt::format("# pg {}\n{}\n", command_.name, out.c_str());
}

namespace {

// An Error names an option of the command line that a run which goes on cannot change: the weights are made for it.
void check_unchanged(const Given& given, const std::string& run) {
  const auto kept = config_values(run + "/config.yaml");
  for (const char* name : {"task", "layers", "heads", "width", "context"}) {
    const auto known = kept.find(name);
    if (known == kept.end() || !given.on_command_line(name)) continue;
    check(known->second == given.text(name), "--{} is {}, but the run {} has {}; leave --{} out, or begin a new run",
          name, given.text(name), run, known->second, name);
  }
}

}  // namespace

void read_files(Given& given, const RunOptions& o) {
  if (!o.config_file.empty()) given.read(o.config_file);
  if (!o.resume.empty()) {
    check_run(o.resume);
    given.read(o.resume + "/config.yaml", /*of_run=*/true);
    check_unchanged(given, o.resume);
  }
  check_run_name(o.name);
}

std::map<std::string, std::string> config_values(const std::string& path) {
  std::map<std::string, std::string> values;
  try {
    const YAML::Node root = load(path);
    if (!root.IsMap()) return {};
    for (const auto& entry : root) {
      if (entry.first.IsScalar() && entry.second.IsScalar()) values[entry.first.Scalar()] = entry.second.Scalar();
    }
  } catch (const Error&) {
    return {};
  }
  return values;
}

}  // namespace pg::tools

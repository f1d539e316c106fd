// Reads --set name=value.
#include "lessons/kit/settings.h"

#include <cmath>
#include <cstdlib>

#include "lessons/kit/terminal.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"

namespace pg::kit {
namespace {

std::string names_of(const std::vector<Setting>& all) {
  std::string names;
  for (const Setting& setting : all) names += (names.empty() ? "" : ", ") + setting.name;
  return names.empty() ? "this demonstration has no settings" : "the settings are " + names;
}

double value_of(const Setting& setting, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool number = !text.empty() && end == text.c_str() + text.size() && text[0] != ' ';
  check(number && value >= setting.low && value <= setting.high && (!setting.whole || value == std::round(value)),
        "--set {}: expected a {}number from {:.10g} to {:.10g}, got \"{}\"", setting.name,
        setting.whole ? "whole " : "", setting.low, setting.high, text);
  return value;
}

}  // namespace

Settings::Settings(const std::vector<Setting>& all, const std::vector<std::string>& assignments) {
  for (const Setting& setting : all) values_[setting.name] = setting.value;
  for (const std::string& assignment : assignments) {
    const size_t equals = assignment.find('=');
    check(equals != std::string::npos, "--set: expected name=value, got \"{}\"; {}", assignment, names_of(all));
    const std::string name = assignment.substr(0, equals);
    check(has(name), "--set: no setting \"{}\"; {}", name, names_of(all));
    for (const Setting& setting : all) {
      if (setting.name == name) values_[name] = value_of(setting, assignment.substr(equals + 1));
    }
  }
  for (const Setting& setting : all) {
    const double value = values_[setting.name];
    if (value == setting.value) continue;
    changes_ +=
        fmt::format("{}{} = {:.10g} ({:.10g})", changes_.empty() ? "" : ", ", setting.name, value, setting.value);
  }
}

double Settings::operator[](const std::string& name) const {
  check(has(name), "the demonstration has no setting \"{}\"", name);
  return values_.at(name);
}

std::string settings_text(const std::vector<Setting>& all, bool json) {
  if (json) {
    Json rows = Json::array();
    for (const Setting& s : all) {
      rows.push_back({{"name", s.name},
                      {"value", s.value},
                      {"low", s.low},
                      {"high", s.high},
                      {"what", s.what},
                      {"whole", s.whole}});
    }
    return rows.dump() + "\n";
  }
  if (all.empty()) return "This demonstration has no settings.\n";
  std::string text = fmt::format("{:<12}{:>9}{:>9}{:>9}  {}\n", "--set", "default", "from", "to", "");
  for (const Setting& s : all) {
    text += wrapped(s.what, 2, fmt::format("{:<10}{:>9.10g}{:>9.10g}{:>9.10g}  ", s.name, s.value, s.low, s.high));
  }
  return text;
}

}  // namespace pg::kit

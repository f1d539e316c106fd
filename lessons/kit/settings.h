#pragma once
// What a reader may change in a demonstration: ./lessonN --set lr=0.5, or a slider in the lesson's page.
#include <map>
#include <string>
#include <vector>

namespace pg::kit {

struct Setting {
  std::string name;
  double value;      // the default
  double low, high;  // both allowed
  std::string what;  // in words, with the unit
  bool whole = false;
};
// The first of the seeds that Demo::seeds() gives.
inline Setting seed_setting() { return {"seed", 1, 1, 1e6, "the first of the seeds", true}; }

// The settings of a lesson with the values that were chosen.
class Settings {
 public:
  // `assignments` are texts such as "lr=0.5". Throws Error for an unknown name, a text that is no number, and a value
  // that is not allowed.
  explicit Settings(const std::vector<Setting>& all, const std::vector<std::string>& assignments = {});
  Settings() = default;
  bool has(const std::string& name) const { return values_.contains(name); }
  double operator[](const std::string& name) const;  // throws Error for a name that is not in `all`
  // The values that are not the defaults, as "lr = 0.5 (0.2)"; "" if there are none.
  const std::string& changes() const { return changes_; }

 private:
  std::map<std::string, double> values_;
  std::string changes_;
};

// A table of the settings, or one JSON array for a page.
std::string settings_text(const std::vector<Setting>& all, bool json);

}  // namespace pg::kit

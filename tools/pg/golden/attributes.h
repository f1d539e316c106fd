#pragma once
// The `attributes` of a golden case (docs/GOLDENS.md): a JSON object of booleans, numbers, strings, integer lists.
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace pg::tools {

class GoldenAttributes {
 public:
  // Throws Error if `json` is not such an object. `op` is used in messages.
  GoldenAttributes(std::string op, const std::string& json);

  // Throws Error, naming the op, the attribute and the known ones, for an attribute that is not in `known`.
  void check_known(const std::vector<std::string>& known) const;
  bool has(const std::string& name) const { return values_.contains(name); }

  // Each throws Error if the attribute has another type or if it is missing and there is no `otherwise`.
  double number(const std::string& name) const;
  double number(const std::string& name, double otherwise) const { return has(name) ? number(name) : otherwise; }
  int64_t integer(const std::string& name) const;
  int64_t integer(const std::string& name, int64_t otherwise) const { return has(name) ? integer(name) : otherwise; }
  bool flag(const std::string& name) const;
  bool flag(const std::string& name, bool otherwise) const { return has(name) ? flag(name) : otherwise; }
  const std::string& word(const std::string& name) const;
  // A number, a word or a boolean as text, such that reading it gives the value again.
  std::string text(const std::string& name) const;
  const std::vector<double>& numbers(const std::string& name) const;
  std::vector<int64_t> integers(const std::string& name) const;

  // The memory layout of inputs "in.0", …: input name → layout.
  const std::map<std::string, std::string>& layout() const { return layout_; }

 private:
  using Value = std::variant<bool, double, std::string, std::vector<double>>;
  template <class T>
  const T& get(const std::string& name, const char* type) const;

  std::string op_;
  std::map<std::string, Value> values_;
  std::map<std::string, std::string> layout_;
};

}  // namespace pg::tools

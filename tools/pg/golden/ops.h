#pragma once
// The operations that a golden case may name (docs/GOLDENS.md).
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tensor/tensor.h"

namespace pg::tools {

// The `attributes` of a golden case: a JSON object of booleans, numbers, strings, integer lists.
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

// The results of operation `op`. Throws Error for an unknown op, an unknown attribute or a wrong number of inputs.
std::vector<Tensor> apply_golden_op(const std::string& op, const std::vector<Tensor>& inputs,
                                    const GoldenAttributes& attributes);

// A row of the table of the operations.
struct GoldenOp {
  using Inputs = std::vector<Tensor>;
  size_t min_inputs, max_inputs;
  std::vector<std::string> attributes;
  std::function<std::vector<Tensor>(const Inputs&, const GoldenAttributes&)> run;
};
using GoldenTable = std::map<std::string, GoldenOp>;

// An undefined tensor if there are fewer inputs.
inline Tensor input_or_none(const GoldenOp::Inputs& in, size_t i) { return i < in.size() ? in[i] : Tensor{}; }

// Adds the operations "rl.*": the functions of rl/.
void add_rl(GoldenTable& table);

}  // namespace pg::tools

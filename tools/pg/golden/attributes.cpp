// The attributes of a golden case, read from JSON.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"
#include "tools/pg/golden/ops.h"

namespace pg::tools {
namespace {

std::string printed(const Json& value) { return excerpt(value.dump(-1, Json::Utf8::replace)); }

int64_t as_integer(double x, const std::string& op, const std::string& name) {
  check(std::abs(x) < 2147483648.0 && x == std::floor(x),
        "{}: attribute '{}': expected a whole number below 2^31, got {}", op, name, x);
  return static_cast<int64_t>(x);
}

}  // namespace

GoldenAttributes::GoldenAttributes(std::string op, const std::string& json) : op_(std::move(op)) {
  const Json object = Json::try_parse(shallow_json(json, op_ + ": the attributes"));
  check(object.is_object(), "{}: the attributes are not a JSON object: {}", op_, excerpt(json));
  for (const auto& [name, value] : object.items()) {
    if (name == "layout") {
      check(value.is_object() && std::ranges::all_of(value.items(), [](const auto& v) { return v.second.is_string(); }),
            "{}: attribute 'layout': expected an object of words like {{\"in.0\": \"transposed\"}}, got {}", op_,
            printed(value));
      layout_ = value.get<std::map<std::string, std::string>>();
    } else if (value.is_boolean()) {
      values_[name] = value.get<bool>();
    } else if (value.is_number()) {
      values_[name] = value.get<double>();
    } else if (value.is_string()) {
      values_[name] = value.get<std::string>();
    } else {
      check(value.is_array() && std::ranges::all_of(value, [](const Json& v) { return v.is_number(); }),
            "{}: attribute '{}': expected a boolean, a number, a word or a list of numbers, got {}", op_, name,
            printed(value));
      values_[name] = value.get<std::vector<double>>();
    }
  }
}

void GoldenAttributes::check_known(const std::vector<std::string>& known) const {
  for (const auto& [name, value] : values_)
    check(std::find(known.begin(), known.end(), name) != known.end(), "{}: unknown attribute '{}'; known: {}", op_,
          name, known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
}

template <class T>
const T& GoldenAttributes::get(const std::string& name, const char* type) const {
  const auto found = values_.find(name);
  check(found != values_.end(), "{}: attribute '{}' is missing: expected {}", op_, name, type);
  const T* value = std::get_if<T>(&found->second);
  check(value != nullptr, "{}: attribute '{}': expected {}", op_, name, type);
  return *value;
}

double GoldenAttributes::number(const std::string& name) const { return get<double>(name, "a number"); }
int64_t GoldenAttributes::integer(const std::string& name) const { return as_integer(number(name), op_, name); }
bool GoldenAttributes::flag(const std::string& name) const { return get<bool>(name, "true or false"); }
const std::string& GoldenAttributes::word(const std::string& name) const { return get<std::string>(name, "a word"); }
std::string GoldenAttributes::text(const std::string& name) const {
  const Value& value = values_.at(name);
  if (const auto* is_true = std::get_if<bool>(&value)) return *is_true ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return word(name);
}
const std::vector<double>& GoldenAttributes::numbers(const std::string& name) const {
  return get<std::vector<double>>(name, "a list of numbers");
}
std::vector<int64_t> GoldenAttributes::integers(const std::string& name) const {
  std::vector<int64_t> result;
  for (double x : numbers(name)) result.push_back(as_integer(x, op_, name));
  return result;
}

}  // namespace pg::tools

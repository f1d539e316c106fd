// Configurations as JSON, in both directions.
#include "nn/config_json.h"

#include <algorithm>
#include <type_traits>

#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {
namespace {

std::string key_of(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
// The keys of a field: that of its name, then those that earlier versions wrote.
std::vector<std::string> keys_of(const Field& field) {
  std::vector<std::string> keys = {key_of(field.name)};
  for (const std::string& name : field.former) keys.push_back(key_of(name));
  return keys;
}

Json value_of(const Field& field) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, NamedValue>)
          return v.get();
        else
          return *v;
      },
      field.value);
}

// Whether the value has the JSON type of the field. A number that is not whole may be written without a point.
bool same_type(const Field& field, const Json& value) {
  return std::visit(
      [&](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, NamedValue> || std::is_same_v<V, std::string*>)
          return value.is_string();
        else if constexpr (std::is_same_v<V, bool*>)
          return value.is_boolean();
        else if constexpr (std::is_same_v<V, double*>)
          return value.is_number();
        else
          return value.is_number_integer();
      },
      field.value);
}

// Also works for a value whose strings are not UTF-8.
std::string printed(const Json& value) { return value.dump(-1, Json::Utf8::replace); }

}  // namespace

std::string to_json(const std::vector<Field>& fields) {
  Json json = Json::object();
  for (const Field& field : fields) {
    if (field.absent != field.text()) json[key_of(field.name)] = value_of(field);
  }
  return json.dump();
}

void set_from_json(const std::vector<Field>& fields, std::string_view text, std::string_view what) {
  const Json given = Json::try_parse(shallow_json(text, what));
  check(given.is_object(), "{}: expected a JSON object, got '{}'", what, excerpt(text));
  for (const auto& [key, value] : given.items()) {
    const bool known = std::any_of(fields.begin(), fields.end(), [&key = key](const Field& f) {
      const std::vector<std::string> keys = keys_of(f);
      return std::find(keys.begin(), keys.end(), key) != keys.end();
    });
    check(known, "{}: unknown key '{}'", what, excerpt(key));
  }
  for (const Field& field : fields) {
    const Json* found = nullptr;
    for (const std::string& key : keys_of(field)) found = found ? found : given.find(key);
    if (!found && field.absent) {
      field.set(*field.absent);
      continue;
    }
    check(found != nullptr, "{}: '{}' is missing", what, key_of(field.name));
    const std::string value = found->is_string() ? found->get<std::string>() : printed(*found);
    check(same_type(field, *found) && field.refusal(value).empty(), "{}: '{}' cannot be {}", what, key_of(field.name),
          excerpt(printed(*found)));
    field.set(value);
  }
}

}  // namespace pg

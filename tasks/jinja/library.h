#pragma once
// What templates call: filters, tests, and the methods of texts, lists and dicts. Each returns what Jinja (in the
// sandbox of transformers) or Python does, or throws Error with its name.
#include <string>
#include <string_view>

#include "tasks/jinja/value.h"

namespace pg::jinja {

// value | name(arguments). Error with the known names for an unknown one.
Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments);
// value is name(arguments)
bool passes_test(const std::string& name, const Value& value, const Arguments& arguments);
// value.name(arguments); an undefined value if there is no such method.
Value method_of(const Value& value, const std::string& name);

}  // namespace pg::jinja

#pragma once
// A configuration as a JSON object, by the list of its fields (tensor/base/fields.h). A key is the name of a field with
// '_' for '-'; a value is a number, true or false, or a string.
#include <string>
#include <string_view>
#include <vector>

#include "tensor/base/fields.h"

namespace pg {

// The object with all fields, in the order of the list, but those that have the value of their `absent`.
std::string to_json(const std::vector<Field>& fields);
// Sets all fields to the values of such an object. `what` names the object in messages. Throws Error that names the key
// if a key is unknown or missing, or if its value has another type or is out of the field's range.
void set_from_json(const std::vector<Field>& fields, std::string_view text, std::string_view what);

}  // namespace pg

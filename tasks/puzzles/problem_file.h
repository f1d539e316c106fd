#pragma once
// What the readers of files of problems share.
#include <functional>
#include <string>
#include <string_view>

#include "tensor/base/json.h"

namespace pg {

// Calls f(object, where) for each line of a JSONL file that is not empty; `where` is "FILE:LINE" for messages. Error
// with that for a line that is no JSON object, and for a file without any.
void each_problem(const std::string& path, const std::function<void(const Json&, const std::string&)>& f);
// The text of that key. Error if there is none.
std::string text_at(const Json& object, const char* key, const std::string& where);

// The text in ASCII without '=', for models of characters: usual quotes and dashes as the keys of a keyboard, anything
// else as '~'.
std::string ascii_of(std::string_view text);

}  // namespace pg

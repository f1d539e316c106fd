#pragma once
// What a file or folder that is no run holds, for pg info: a GGUF file, a Hugging Face folder, a token file.
#include <string>

#include "tensor/base/json.h"

namespace pg::tools {

// A JSON object with the key "format"; null if `path` is none of these. Headers are read, weights are not. Error if the
// file is damaged.
Json describe_file(const std::string& path);
// What describe_file returned, as lines on standard output.
void print_file(const Json& json);
// A line "WHAT           VALUE". The values of all lines begin in one column: WHAT has at most 14 letters.
void show(const std::string& what, const std::string& value);

}  // namespace pg::tools

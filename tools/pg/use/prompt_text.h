#pragma once
// The prompt that the options of a command give.
#include <string>

namespace pg::tools {

// The prompt of --prompt TEXT ("-": all of standard input) or of --prompt-file FILE; only one of them may be non-empty.
// A file's and standard input's line ends become newlines, which a remark on standard error states, and one newline at
// the end is left out. Error if the file cannot be read.
std::string given_prompt(const std::string& prompt, const std::string& file);

}  // namespace pg::tools

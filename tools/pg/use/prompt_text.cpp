// --prompt and --prompt-file.
#include "tools/pg/use/prompt_text.h"

#include <iostream>
#include <iterator>
#include <utility>

#include "tasks/data/text_data.h"
#include "tools/pg/cli/progress.h"

namespace pg::tools {
namespace {

// Without the newline at the end of files and pipes, which is not meant as part of the prompt.
std::string prompt_in(std::string text, const std::string& name) {
  std::string note;
  text = unix_text(std::move(text), name, note);
  if (!note.empty()) remark(stderr, "{}\n", note);
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

}  // namespace

std::string given_prompt(const std::string& prompt, const std::string& file) {
  if (!file.empty()) return prompt_in(read_file(file), file);
  if (prompt != "-") return prompt;
  return prompt_in({std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()}, "the prompt");
}

}  // namespace pg::tools

// The prompt of a sample, and the texts that end it.
#include "tools/pg/use/prompt_text.h"

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>

#include "tasks/data/text_data.h"
#include "tensor/base/error.h"
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

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) check(!stop.empty(), "--stop: a stop text must not be empty");
}

std::string StopText::take(std::string_view piece) {
  if (stopped_) return "";
  pending_ += piece;
  size_t at = std::string::npos;
  for (const std::string& stop : stops_) at = std::min(at, pending_.find(stop));
  if (at != std::string::npos) {
    stopped_ = true;
    return std::exchange(pending_, "").substr(0, at);
  }
  size_t keep = 0;  // length of the longest suffix that is a prefix of a stop text
  for (const std::string& stop : stops_) {
    for (size_t n = std::min(stop.size() - 1, pending_.size()); n > keep; --n) {
      if (pending_.ends_with(std::string_view(stop).substr(0, n))) keep = n;
    }
  }
  const std::string shown = pending_.substr(0, pending_.size() - keep);
  pending_.erase(0, shown.size());
  return shown;
}

std::string StopText::rest() { return std::exchange(pending_, ""); }

}  // namespace pg::tools

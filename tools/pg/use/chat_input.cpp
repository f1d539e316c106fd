// Messages of several lines, and commands.
#include "tools/pg/use/chat_input.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace pg::tools {
namespace {
constexpr std::string_view kQuotes = "\"\"\"", kBlank = " \t";
}  // namespace

ChatReader::ChatReader(std::istream& in, std::vector<std::string> commands, std::function<bool()> more)
    : in_(in), commands_(std::move(commands)), more_(std::move(more)) {}

std::optional<std::string> ChatReader::line() {
  std::string line;
  if (!std::getline(in_, line)) return {};
  if (line.ends_with('\r')) line.pop_back();
  return line;
}

bool ChatReader::is_command(const std::string& line) const {
  if (!line.starts_with('/')) return false;
  const std::string name = line.substr(1, line.find_first_of(kBlank) - 1);
  return std::find(commands_.begin(), commands_.end(), name) != commands_.end();
}

// The lines up to one that ends with the quotes, or to the end of the input. `first`: the line after its quotes.
std::string ChatReader::quoted(std::string first) {
  std::string text;
  for (std::optional<std::string> next = std::move(first); next; next = line()) {
    const bool last = next->ends_with(kQuotes);
    text += next->substr(0, next->size() - (last ? kQuotes.size() : 0));
    if (last) break;
    if (!text.empty()) text += '\n';
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string ChatReader::continued(std::string first) {
  std::string text = std::move(first);
  while (text.ends_with('\\') || more_()) {
    const bool marked = text.ends_with('\\');
    const std::optional<std::string> next = line();
    if (!next) break;
    if (marked) text.pop_back();
    text += '\n' + *next;
  }
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::optional<ChatInput> ChatReader::next() {
  while (std::optional<std::string> first = line()) {
    if (is_command(*first)) return ChatInput{true, first->substr(1)};
    std::string text;
    if (first->starts_with(kQuotes)) {
      text = quoted(first->substr(kQuotes.size()));
    } else {
      if (first->starts_with("//") && is_command(first->substr(1))) first->erase(0, 1);
      text = continued(*std::move(first));
    }
    if (text.find_first_not_of(" \t\n") != std::string::npos) return ChatInput{false, std::move(text)};
  }
  return {};
}

}  // namespace pg::tools

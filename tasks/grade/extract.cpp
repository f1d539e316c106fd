#include "tasks/grade/extract.h"

#include <algorithm>
#include <string>

#include "tensor/base/error.h"

namespace pg {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\n\r\f\v";
  const size_t begin = std::min(text.find_first_not_of(kSpaces), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

std::optional<std::string_view> last_boxed(std::string_view text) {
  size_t begin = std::string_view::npos;
  for (const std::string_view mark : {"\\boxed", "\\fbox"}) {
    const size_t at = text.rfind(mark);
    if (at != std::string_view::npos && (begin == std::string_view::npos || at + mark.size() > begin)) {
      begin = at + mark.size();
    }
  }
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(std::min(text.find_first_not_of(' ', begin), text.size()));
  if (!text.starts_with('{')) return {};
  int64_t depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == '}' && --depth == 0) {
      return text.substr(1, i - 1);
    }
  }
  return {};
}

std::optional<std::string_view> last_tagged(std::string_view text, std::string_view tag) {
  const std::string open = fmt::format("<{}>", tag), close = fmt::format("</{}>", tag);
  const size_t begin = text.rfind(open);
  if (begin == std::string_view::npos) return {};
  const size_t content = begin + open.size(), end = text.find(close, content);
  if (end == std::string_view::npos || !trimmed(text.substr(end + close.size())).empty()) return {};
  return text.substr(content, end - content);
}

}  // namespace pg

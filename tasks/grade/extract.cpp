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

FoundAnswer find_answer(std::string_view text) {
  using Where = FoundAnswer::Where;
  if (text.find("\\boxed") != std::string_view::npos || text.find("\\fbox") != std::string_view::npos) {
    const auto boxed = last_boxed(text);
    return boxed ? FoundAnswer{Where::boxed, trimmed(*boxed)} : FoundAnswer{Where::nowhere};
  }
  if (const auto tagged = last_tagged(text, "answer")) return {Where::tagged, trimmed(*tagged)};
  constexpr std::string_view kPhrase = "answer is";
  const auto same_letter = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
  const auto phrase = std::find_end(text.begin(), text.end(), kPhrase.begin(), kPhrase.end(), same_letter);
  if (phrase == text.end()) return {Where::nowhere};
  std::string_view rest = text.substr(static_cast<size_t>(phrase - text.begin()) + kPhrase.size());
  rest = trimmed(rest.substr(0, rest.find('\n')));
  if (rest.starts_with(':')) rest = trimmed(rest.substr(1));
  for (size_t i = 0; i + 1 < rest.size(); ++i) {  // a point before a space ends the sentence
    if (rest[i] == '.' && rest[i + 1] == ' ') rest = rest.substr(0, i);
  }
  if (rest.ends_with('.')) rest.remove_suffix(1);
  if (rest.empty()) return {Where::nowhere};
  return {Where::phrase, trimmed(rest)};
}

}  // namespace pg

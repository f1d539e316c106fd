// Texts as Python's methods of str treat them.
#include <algorithm>
#include <cctype>

#include "tasks/data/utf8.h"
#include "tasks/jinja/library.h"
#include "tensor/base/error.h"

namespace pg::jinja {
namespace {

// Python's str.isspace().
bool is_space(char32_t c) {
  return (c >= '\t' && c <= '\r') || (c >= 0x1C && c <= ' ') || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
// Where str.splitlines() ends a line.
bool ends_line(char32_t c) {
  return (c >= '\n' && c <= '\r') || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}
bool is_space(const Utf8Unit& unit) { return unit.kind == Utf8Unit::character && is_space(unit.value); }

}  // namespace

std::string mapped(std::string text, int (*f)(int)) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x80) c = static_cast<char>(f(static_cast<unsigned char>(c)));
  }
  return text;
}
const std::string& ascii(const std::string& text) {
  const auto other =
      std::find_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  if (other != text.end()) {
    const std::string_view rest = std::string_view(text).substr(static_cast<size_t>(other - text.begin()));
    fail("upper, lower, title and capitalize: '{}' is not ASCII", rest.substr(0, first_unit(rest).bytes));
  }
  return text;
}
std::string title(const std::string& text, bool every_word) {
  std::string result = mapped(ascii(text), std::tolower);
  for (size_t i = 0; i < result.size(); ++i) {
    const bool begins = i == 0 || (every_word && std::isalpha(static_cast<unsigned char>(result[i - 1])) == 0);
    if (begins) result[i] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[i])));
  }
  return result;
}
std::string stripped(std::string_view text, const Value& characters, bool left, bool right) {
  const auto set = characters.is_none() ? std::vector<std::string>() : characters_of(text_of(characters, "strip"));
  const auto strips = [&](std::string_view c) {
    return characters.is_none() ? is_space(first_unit(c)) : std::find(set.begin(), set.end(), c) != set.end();
  };
  while (left && !text.empty()) {
    const size_t first = first_unit(text).bytes;
    if (!strips(text.substr(0, first))) break;
    text.remove_prefix(first);
  }
  while (right && !text.empty()) {
    size_t last = text.size() - 1;
    while (last > 0 && (text[last] & 0xC0) == 0x80) --last;
    if (!strips(text.substr(last))) break;
    text = text.substr(0, last);
  }
  return std::string(text);
}
std::string replaced(const std::string& text, const std::string& from, const std::string& to, int64_t most) {
  check(!from.empty(), "replace: the text to replace is empty");
  std::string result;
  size_t at = 0;
  for (size_t next; most != 0 && (next = text.find(from, at)) != std::string::npos; --most) {
    result += text.substr(at, next - at) + to;
    check_bytes(result.size());
    at = next + from.size();
  }
  return result + text.substr(at);
}
Value split(const std::string& text, const Value& separator, int64_t most) {
  List parts;
  if (separator.is_none()) {
    const auto skip = [&](size_t at, bool space) {  // the end of the white space, or of the other characters, at `at`
      while (at < text.size()) {
        const Utf8Unit unit = first_unit(std::string_view(text).substr(at));
        if (is_space(unit) != space) break;
        at += unit.bytes;
      }
      return at;
    };
    for (size_t at = skip(0, true), end; at < text.size(); at = skip(end, true)) {
      end = most-- == 0 ? text.size() : skip(at, false);
      parts.emplace_back(text.substr(at, end - at));
    }
    return Value::list(std::move(parts));
  }
  const std::string& by = text_of(separator, "split");
  check(!by.empty(), "split: the separator is empty");
  size_t at = 0;
  for (size_t next; most != 0 && (next = text.find(by, at)) != std::string::npos; --most) {
    parts.emplace_back(text.substr(at, next - at));
    at = next + by.size();
  }
  parts.emplace_back(text.substr(at));
  return Value::list(std::move(parts));
}
int64_t count_of(const std::string& text, const std::string& part) {
  check(!part.empty(), "count: the text to count is empty");
  int64_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}
int64_t place_of(const std::string& text, const std::string& part) {
  const size_t at = text.find(part);
  return at == std::string::npos ? -1 : character_count(std::string_view(text).substr(0, at));
}
Value lines_of(const std::string& text) {
  List lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const Utf8Unit unit = first_unit(std::string_view(text).substr(at));
    const size_t end = at;
    at += unit.bytes;
    if (unit.kind != Utf8Unit::character || !ends_line(unit.value)) continue;
    if (unit.value == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(begin, end - begin));
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return Value::list(std::move(lines));
}

}  // namespace pg::jinja

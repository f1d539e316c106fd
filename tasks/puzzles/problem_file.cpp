#include "tasks/puzzles/problem_file.h"

#include <algorithm>
#include <sstream>

#include "tasks/grade/extract.h"
#include "tasks/text_data.h"
#include "tensor/base/error.h"
#include "tensor/base/json.h"
#include "tensor/base/text.h"

namespace pg {

void each_problem(const std::string& path, const std::function<void(const Json&, const std::string&)>& f) {
  std::string note, line;
  std::istringstream file(unix_text(read_file(path), path, note));
  bool any = false;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (trimmed(line).empty()) continue;
    const std::string where = fmt::format("{}:{}", path, number);
    const Json json = Json::try_parse(shallow_json(line, where));
    check(json.is_object(), "{}: expected a JSON object, got '{}'", where, excerpt(line));
    f(json, where);
    any = true;
  }
  check(any, "{}: the file has no problems", path);
}

std::string text_at(const Json& object, const char* key, const std::string& where) {
  check(object[key].is_string(), "{}: \"{}\" must be a string", where, key);
  return object[key].get<std::string>();
}

std::string ascii_of(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Utf8Character c = first_character(text);
    text.remove_prefix(std::max<size_t>(1, c.length));
    if (c.value == U'‘' || c.value == U'’')
      result += '\'';
    else if (c.value == U'“' || c.value == U'”')
      result += '"';
    else if (c.value == U'–' || c.value == U'—' || c.value == U'−')
      result += '-';
    else if (c.value == '\n' || c.value == '\r' || c.value == '\t' || c.value == U'\u00a0')
      result += ' ';
    else
      result += c.length == 1 && c.value >= ' ' && c.value <= '~' && c.value != '=' ? static_cast<char>(c.value) : '~';
  }
  return result;
}

}  // namespace pg

// Finds functions, headings and commands in source files and READMEs.
#include "lessons/kit/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace pg::kit {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
// Whether a word is the number of a check, such as "04.2".
bool is_check(const std::string& word) {
  return word.size() > 3 && is_digit(word[0]) && is_digit(word[1]) && word[2] == '.' &&
         std::all_of(word.begin() + 3, word.end(), is_digit);
}

// The index into the text at which the brace opened after `start` is closed; npos if it is not. Skips comments, strings
// and characters. A semicolon before any brace (a declaration) also gives npos.
size_t closing_brace(const std::string& text, size_t start) {
  int depth = 0, parentheses = 0;
  for (size_t i = start; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '/' && text.compare(i, 2, "//") == 0) {
      i = text.find('\n', i);
      if (i == std::string::npos) return i;
    } else if (c == '"' || (c == '\'' && !(i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      for (++i; i < text.size() && text[i] != c; ++i) i += text[i] == '\\';
    } else if (c == '(') {
      ++parentheses;
    } else if (c == ')') {
      --parentheses;
    } else if (parentheses > 0 && depth == 0) {
      continue;  // default arguments may contain braces
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i;
    } else if (c == ';' && depth == 0) {
      return std::string::npos;
    }
  }
  return std::string::npos;
}

// The end of a row of a .def file, such as BINARY(mul, …); npos if there is no row at `start`.
size_t row_end(const std::string& text, size_t start) {
  size_t at = start;
  while (at < text.size() && (std::isupper(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  if (at == start || at == text.size() || text[at] != '(') return std::string::npos;
  for (int depth = 0; at < text.size(); ++at) {
    depth += text[at] == '(';
    depth -= text[at] == ')';
    if (depth == 0) return at;
  }
  return std::string::npos;
}

}  // namespace

Range find_function(const std::string& text, const std::string& signature) {
  for (size_t at = text.find(signature); at != std::string::npos; at = text.find(signature, at + 1)) {
    const size_t line_start = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const size_t row = row_end(text, line_start);
    const size_t end = row != std::string::npos ? row : closing_brace(text, line_start);
    if (end == std::string::npos) continue;
    Range range;
    const auto line_of = [&](size_t position) {
      int line = 1;
      for (size_t i = 0; i < position; ++i) line += text[i] == '\n';
      return line;
    };
    range.first = line_of(line_start);
    range.last = line_of(end);
    const size_t line_end = text.find('\n', end);
    range.text = text.substr(line_start, line_end == std::string::npos ? line_end : line_end - line_start);
    return range;
  }
  return {};
}

std::string marked_functions(const std::string& text, const std::string& id) {
  const std::vector<std::string> lines = split(text);
  const auto has = [](const std::string& line, const std::string& what) {
    return line.find(what) != std::string::npos;
  };
  // A function begins and ends at the first column. A line there that is no part of one precedes it, or ends it.
  const auto ends = [](const std::string& line) { return line.starts_with("}"); };
  const auto outside = [&](const std::string& line) {
    const bool indented = line.starts_with(" ");
    return ends(line) || line.starts_with("//") || line.starts_with("#") || line.starts_with("namespace ") ||
           (!indented && line.ends_with(";"));
  };
  std::string result;
  for (size_t i = 0, begin = 0; i < lines.size(); ++i) {
    if (outside(lines[i]) || (begin == i && lines[i].empty())) begin = i + 1;
    if (!has(lines[i], fmt::format("// [answer {} ", id))) continue;
    if (!result.empty()) result += "\n";
    for (i = begin; i < lines.size(); ++i) {
      if (!has(lines[i], "// [answer ") && !has(lines[i], "// [end]")) result += lines[i] + "\n";
      if (ends(lines[i])) break;
    }
    begin = i + 1;
  }
  return result;
}

std::string anchor(const std::string& heading) {
  std::string result;
  for (const unsigned char c : heading) {
    if (std::isalnum(c) || c == '_' || c == '-' || c >= 0x80) result += static_cast<char>(std::tolower(c));
    if (c == ' ') result += '-';
  }
  return result;
}

std::vector<std::string> headings(const std::string& markdown) {
  std::vector<std::string> found;
  bool fenced = false;
  for (const std::string& line : split(markdown)) {
    if (line.starts_with("```")) fenced = !fenced;
    const size_t level = line.find_first_not_of('#');
    if (!fenced && level > 0 && level != std::string::npos && line[level] == ' ')
      found.push_back(line.substr(level + 1));
  }
  return found;
}

std::vector<std::string> fenced_lines(const std::string& markdown, const std::string& language) {
  std::vector<std::string> found;
  bool inside = false;
  for (const std::string& line : split(markdown)) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```" + language;
    } else if (inside && !line.empty()) {
      found.push_back(line);
    }
  }
  return found;
}

std::map<std::string, int> minutes_in(const std::string& readme) {
  const size_t begin = readme.find("**Time:**");
  if (begin == std::string::npos) return {};
  const std::string item =
      readme.substr(begin, std::min(readme.find("\n- ", begin), readme.find("\n\n", begin)) - begin);
  std::istringstream words(item);
  std::map<std::string, int> minutes;
  std::string check, word;
  for (; words >> word; check = word) {  // "01.2" before "15"
    if (is_check(check) && is_digit(word[0])) minutes[check] = std::stoi(word);
  }
  return minutes;
}

int minutes_to_read(const std::string& readme) {
  const std::string label = "**Time:** ";
  const size_t begin = readme.find(label);
  return begin == std::string::npos ? 0 : std::atoi(readme.c_str() + begin + label.size());
}

std::string engine_call(const std::string& text, const std::string& name) {
  for (size_t at = text.find(name + "("); at != std::string::npos; at = text.find(name + "(", at + 1)) {
    const char before = at > 0 ? text[at - 1] : ' ';
    const size_t line = text.rfind('\n', at) + 1, end = closing_brace(text, at);
    const bool part = std::isalnum(static_cast<unsigned char>(before)) || before == '_' || before == ':';
    if (part || end == std::string::npos || text.compare(line, 2, "//") == 0) continue;
    const std::string call = "pg::" + name + "(";
    std::string body;  // without comments and white space
    bool comment = false;
    for (size_t i = text.find('{', at) + 1; i < end; ++i) {
      comment = text[i] != '\n' && (comment || text.compare(i, 2, "//") == 0);
      if (!comment && !std::isspace(static_cast<unsigned char>(text[i]))) body += text[i];
    }
    if (body.starts_with("return")) body.erase(0, 6);
    return body.starts_with(call) && body.ends_with(");") && body.find(';') + 1 == body.size() ? "pg::" + name : "";
  }
  return "";
}

}  // namespace pg::kit

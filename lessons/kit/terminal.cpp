// Colours, width and Unicode of the terminal; wraps text.
#include "lessons/kit/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

namespace pg::kit {
namespace {

std::string locale_name() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const char* value = std::getenv(variable); value && *value) return value;
  }
  return "";
}

Style detect() {
  Style found;
  found.live = isatty(STDOUT_FILENO);
  if (!found.live) return found;
  const char* term = std::getenv("TERM");
  found.color = !std::getenv("NO_COLOR") && term && std::string(term) != "dumb";
  std::string locale = locale_name();
  std::transform(locale.begin(), locale.end(), locale.begin(), [](unsigned char c) { return std::tolower(c); });
  found.unicode = locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col >= 40) {
    found.width = std::min<int>(window.ws_col, 100);
  }
  return found;
}

Style& current() {
  static Style found = detect();
  return found;
}

}  // namespace

const Style& style() { return current(); }
void use_plain_style() { current().color = current().unicode = current().live = false; }
void set_style(const Style& style) { current() = style; }

std::string paint(Color color, std::string_view text) {
  if (!style().color) return std::string(text);
  constexpr const char* kCodes[] = {"31", "32", "33", "34", "35", "36", "90", "1"};
  return std::string("\x1b[") + kCodes[static_cast<int>(color)] + "m" + std::string(text) + "\x1b[0m";
}

std::string readable(std::string_view text) {
  std::string result(text);
  if (style().unicode) return result;
  constexpr std::pair<const char*, const char*> kSymbols[] = {
      {"·", "*"},     {"×", "x"},   {"²", "^2"},    {"³", "^3"},     {"ᵀ", "^T"},   {"√", "sqrt "}, {"Σ", "sum "},
      {"∂", "d"},     {"≤", "<="},  {"≥", ">="},    {"≈", "about "}, {"≠", "!="},   {"−", "-"},     {"–", "-"},
      {"…", "..."},   {"→", "->"},  {"±", "+-"},    {"π", "pi"},     {"β", "beta"}, {"ε", "eps"},   {"γ", "gamma"},
      {"σ", "sigma"}, {"μ", "mu"},  {"∞", "inf"},   {"“", "\""},     {"”", "\""},   {"’", "'"},     {"λ", "lambda"},
      {"θ", "theta"}, {"τ", "tau"}, {"∇", "grad "}, {"½", "1/2"}};
  for (const auto& [symbol, ascii] : kSymbols) {
    for (size_t at = 0; (at = result.find(symbol, at)) != std::string::npos; at += std::strlen(ascii)) {
      result.replace(at, std::strlen(symbol), ascii);
    }
  }
  return result;
}

int text_width(std::string_view utf8) {
  return static_cast<int>(std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, int width) {
  std::string result = readable(text);
  result.append(std::max(0, width - text_width(result)), ' ');
  return result;
}

std::string wrapped(std::string_view text, int indent, std::string_view label) {
  std::istringstream words{readable(text)};
  std::string margin = std::string(indent, ' ') + std::string(label);
  const int left = text_width(margin);
  std::string result, line, word;
  const auto end_line = [&] {
    result += margin + line + "\n";
    margin.assign(left, ' ');
    line.clear();
  };
  while (words >> word) {
    if (!line.empty() && left + text_width(line) + 1 + text_width(word) > style().width) end_line();
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty() || (result.empty() && !label.empty())) end_line();
  return result;
}

}  // namespace pg::kit

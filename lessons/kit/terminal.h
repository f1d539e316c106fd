#pragma once
// The capabilities of the terminal. Colour and Unicode are used only where they can be displayed; no information is
// conveyed by colour alone.
#include <string>
#include <string_view>

namespace pg::kit {

struct Style {
  bool color = false;
  bool unicode = false;
  bool live = false;  // a terminal, on which a line can be rewritten
  int width = 80;     // at most 100
};
// The style of standard output: a terminal with a UTF-8 locale gets colour and Unicode, unless NO_COLOR or
// use_plain_style() disables them.
const Style& style();
void use_plain_style();
void set_style(const Style& style);  // for tests

enum class Color { red, green, yellow, blue, magenta, cyan, grey, bold };
std::string paint(Color color, std::string_view text);

// The text with symbols such as · and ² replaced by ASCII if the terminal has no Unicode.
std::string readable(std::string_view text);

int text_width(std::string_view utf8);                 // code points
std::string padded(std::string_view text, int width);  // readable(), padded to at least this width
// readable(), with lines broken at spaces. Every line starts with `indent` spaces. `label` is before the text of the
// first line, and the other lines are indented by its width too.
std::string wrapped(std::string_view text, int indent = 0, std::string_view label = "");

}  // namespace pg::kit

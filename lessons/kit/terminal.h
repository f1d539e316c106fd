#pragma once
// What the terminal can show. Colour and Unicode only where they will be seen; never a signal by colour alone.
#include <string>
#include <string_view>

namespace pg::kit {

struct Style {
  bool color = false;
  bool unicode = false;
  bool live = false;  // a terminal, on which a line can be rewritten
  int width = 80;     // at most 100
};
// Of standard output: a terminal of a UTF-8 locale gets colour and Unicode; NO_COLOR and use_plain_style() are obeyed.
const Style& style();
void use_plain_style();
void set_style(const Style& style);  // for tests

enum class Color { red, green, yellow, blue, magenta, cyan, grey, bold };
std::string paint(Color color, std::string_view text);

// The text with symbols such as · and ² in ASCII where the terminal has no Unicode.
std::string readable(std::string_view text);

int text_width(std::string_view utf8);                 // code points
std::string padded(std::string_view text, int width);  // readable, and at least so wide
// Readable, with lines broken at spaces. Every line starts with `indent` spaces; `label` stands before the first and
// the others keep clear of it.
std::string wrapped(std::string_view text, int indent = 0, std::string_view label = "");

}  // namespace pg::kit

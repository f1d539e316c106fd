#pragma once
// The tokens of a chat template, with the treatment of white space that transformers asks of Jinja.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pg::jinja {

struct Token {
  enum class Kind : uint8_t {
    text,
    begin_output,
    end_output,
    begin_block,
    end_block,
    name,
    string,
    integer,
    number,
    sign,
    end
  };
  Kind kind;
  std::string text;  // of a string without its quotes
  int line = 1;
};

// Texts, and the names, strings, numbers and signs in {{ }} and {% %}. Comments are left out. A block or comment takes
// the line feed behind it and the white space before it in its line (trim_blocks, lstrip_blocks); a - at a bracket
// takes all white space on that side, a + none. One line feed at the end of the template is left out. Error with the
// line for what is not closed, and for a character that begins no token.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace pg::jinja

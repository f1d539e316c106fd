// Control characters in caret notation.
#include "tools/pg/cli/terminal_text.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>

namespace pg::tools {

std::string with_carets(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == '\n' || c == '\t' || (c >= 0x20 && c != 0x7f && c != 0xc2)) {
      shown += text[i];
    } else if (c < 0x20 || c == 0x7f) {
      shown += '^';
      shown += static_cast<char>(c ^ 0x40);
    } else if (next >= 0x80 && next <= 0x9f) {  // after 0xc2: U+0080 to U+009F
      shown += "^[";
      shown += static_cast<char>(next - 0x40);
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

std::string for_terminal(std::FILE* out, std::string_view text) {
  return isatty(fileno(out)) == 1 ? with_carets(text) : std::string(text);
}

std::string shell_word(std::string_view text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 0x80 ||
           std::string_view("_-./+,:=@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

}  // namespace pg::tools

// Splits UTF-8 into characters.
#include "tasks/utf8.h"

#include <cstdint>

#include "tensor/base/error.h"
#include "tensor/base/text.h"

namespace pg {

std::u32string decode_utf8(std::string_view text, std::string_view what) {
  std::u32string characters;
  characters.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const Utf8Character next = first_character(text.substr(i));
    check(next.length > 0,
          "{}: byte {:#04x} at offset {} does not begin a valid UTF-8 character; save the text as UTF-8", what,
          static_cast<uint8_t>(text[i]), i);
    characters.push_back(next.value);
    i += next.length;
  }
  return characters;
}

void append_utf8(std::string& text, char32_t c) {
  const auto put = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto tail = [&](int shift) { put(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6)), tail(0);
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12)), tail(6), tail(0);
  } else {
    put(0xf0 | (c >> 18)), tail(12), tail(6), tail(0);
  }
}

std::string describe_character(char32_t character) {
  switch (character) {
    case '\n':
      return "'\\n'";
    case '\r':
      return "'\\r'";
    case '\t':
      return "'\\t'";
    default:
      break;
  }
  if (character < 0x20 || character == 0x7f) return fmt::format("U+{:04X}", static_cast<uint32_t>(character));
  std::string text;
  append_utf8(text, character);
  if (character < 0x7f) return fmt::format("'{}'", text);
  return fmt::format("U+{:04X} '{}'", static_cast<uint32_t>(character), text);
}

}  // namespace pg

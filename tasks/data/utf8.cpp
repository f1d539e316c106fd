// Splits UTF-8 into characters.
#include "tasks/data/utf8.h"

#include <cstdint>
#include <cstring>

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

Utf8Unit first_unit(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return {Utf8Unit::character, 1, lead};
  if (lead < 0xc2 || lead > 0xf4) return {Utf8Unit::invalid, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  char32_t value = lead & (0x7fu >> length);
  for (size_t k = 1; k < length; ++k) {
    if (k == text.size()) return {Utf8Unit::cut, k};
    const auto byte = static_cast<uint8_t>(text[k]);
    // The second byte has a smaller range where an overlong form, a surrogate or a value beyond U+10FFFF would begin.
    const bool second = k == 1;
    const uint8_t low = second && lead == 0xe0 ? 0xa0 : second && lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = second && lead == 0xed ? 0x9f : second && lead == 0xf4 ? 0x8f : 0xbf;
    if (byte < low || byte > high) return {Utf8Unit::invalid, k};
    value = (value << 6) | (byte & 0x3f);
  }
  return {Utf8Unit::character, length, value};
}

size_t valid_prefix(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint64_t word;  // eight ASCII characters at once
    if (i + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + i, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        i += sizeof word;
        continue;
      }
    }
    const Utf8Unit unit = first_unit(text.substr(i));
    if (unit.kind != Utf8Unit::character) break;
    i += unit.bytes;
  }
  return i;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const size_t good = valid_prefix(text);
    valid += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) break;
    append_utf8(valid, 0xfffd);
    text.remove_prefix(first_unit(text).bytes);
  }
  return valid;
}

}  // namespace pg

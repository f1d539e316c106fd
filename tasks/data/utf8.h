#pragma once
// UTF-8, strictly: overlong forms, surrogates and values beyond U+10FFFF are errors, not characters.
#include <string>
#include <string_view>

namespace pg {

// Code points of `text`. Throws Error naming the byte offset of the first ill-formed sequence; `what` begins the
// message.
std::u32string decode_utf8(std::string_view text, std::string_view what = "UTF-8");
// Appends one code point (a valid scalar value).
void append_utf8(std::string& text, char32_t character);
// What a text begins with: a valid character, bytes that belong to no character, or a character cut by the text's end.
struct Utf8Unit {
  enum Kind { character, invalid, cut } kind;
  size_t bytes;        // of the character; else the longest beginning of a valid character, at least 1
  char32_t value = 0;  // of a character
};
// The unit at the beginning of `text`, which is not empty.
Utf8Unit first_unit(std::string_view text);
// `text` with U+FFFD for each unit that is not a character, as the Unicode standard recommends (section 3.9,
// "substitution of maximal subparts") and Rust's from_utf8_lossy does.
std::string replace_invalid_utf8(std::string_view text);
// The length of the longest beginning of `text` that is valid UTF-8.
size_t valid_prefix(std::string_view text);
// For messages: 'a', '\n', U+00E9 'é'.
std::string describe_character(char32_t character);

}  // namespace pg

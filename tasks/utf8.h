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
// For messages: 'a', '\n', U+00E9 'é'.
std::string describe_character(char32_t character);

}  // namespace pg

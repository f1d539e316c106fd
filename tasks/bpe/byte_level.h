#pragma once
// GPT-2's byte alphabet: every byte has a printable character, so that a vocabulary of byte strings can be written as
// text (JSON, merges.txt). The bytes 33-126, 161-172 and 174-255 are their own code points; the other 68, ascending,
// are U+0100, U+0101 and so on: a space is U+0120, a newline U+010A.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pg {

// The character of a byte, in UTF-8.
const std::string& byte_symbol(uint8_t byte);
// The characters of these bytes.
std::string symbols_of(std::string_view bytes);
// The bytes of a token that is written in the alphabet; none for a token with any other character.
std::optional<std::string> bytes_of_symbols(std::string_view token);
// The bytes in the order of their characters' code points: '!' first, then the other printable ones, byte 0 at place
// 188. GPT-2's ids 0 to 255 have this order.
const std::string& bytes_in_symbol_order();

}  // namespace pg

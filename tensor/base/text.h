#pragma once
// Text from external sources: suggestions for mistyped names, checks of JSON and UTF-8, excerpts for messages, and
// hashes.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pg {

// " (did you mean steps?)" with the known name that differs least from the given one, in at most a third of its
// letters; empty when there is none. For the message of an Error.
std::string did_you_mean(std::string_view given, const std::vector<std::string>& known);

// Returns `text`, a JSON value, if it nests at most 64 levels deep; Error naming `what` if it nests deeper. Every JSON
// text that comes from a file passes through this function before it is parsed, because some readers of values are
// recursive.
std::string_view shallow_json(std::string_view text, std::string_view what);

// The character that `text` begins with and its length in bytes. The length is 0 if UTF-8 has no such character:
// overlong forms, surrogates and values beyond U+10FFFF are errors.
struct Utf8Character {
  char32_t value = 0;
  size_t length = 0;
};
Utf8Character first_character(std::string_view text);
// Whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);

// The first `longest` bytes of a text without control characters, for messages.
std::string excerpt(std::string_view text, size_t longest = 80);

// FNV-1a, 64 bits, of the bytes. It detects accidents; it does not protect against forgery.
uint64_t checksum(std::string_view bytes);

// A 64-bit mix of a key for hash tables (the finalizer of MurmurHash3).
inline uint64_t mix_bits(uint64_t key) {
  key = (key ^ (key >> 33)) * 0xff51afd7ed558ccdu;
  key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53u;
  return key ^ (key >> 33);
}

}  // namespace pg

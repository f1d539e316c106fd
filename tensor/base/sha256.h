#pragma once
// SHA-256, to verify files, and the message authentication code HMAC made of it.
#include <array>
#include <string>
#include <string_view>

namespace pg {

using Digest = std::array<unsigned char, 32>;

// SHA-256 (FIPS 180-4).
Digest sha256_digest(std::string_view bytes);
// The same as 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

// HMAC-SHA-256 (RFC 2104): only who knows the key can compute it. The key has any length.
Digest hmac_sha256(std::string_view key, std::string_view message);
// Whether both are equal, in a time that does not depend on where they differ.
bool same_digest(const Digest& a, const Digest& b);

}  // namespace pg

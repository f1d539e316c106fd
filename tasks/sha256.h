#pragma once
// SHA-256 (FIPS 180-4), to verify downloaded files.
#include <string>
#include <string_view>

namespace pg {

// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace pg

#pragma once
// SHA-256 (FIPS 180-4), to know a downloaded file for what it is.
#include <string>
#include <string_view>

namespace pg {

// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view bytes);

}  // namespace pg

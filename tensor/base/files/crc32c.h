#pragma once
// CRC-32C, the checksum of files: fast, and it finds every change of up to 32 neighbouring bits.
#include <cstdint>
#include <string_view>

namespace pg {

// CRC-32C (Castagnoli; RFC 3720, B.4). `before` is the checksum of the bytes ahead of these, so that crc32c(b,
// crc32c(a)) is that of a and b together. It protects against accidents, not against forgery.
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace pg

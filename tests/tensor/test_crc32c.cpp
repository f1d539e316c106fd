// CRC-32C compared with published values, and of texts in pieces.
#include <string>

#include "tensor/base/files/crc32c.h"
#include "tests/catch.h"

using namespace pg;

// The check value of the CRC catalogue; RFC 3720, B.4: 32 bytes of zeros and of ones.
TEST_CASE("CRC-32C gives the published values", "[crc32c]") {
  CHECK(crc32c("123456789") == 0xE3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
  CHECK(crc32c("") == 0);
}

// Pieces of fewer than eight bytes take the table, others the processor's instruction where there is one.
TEST_CASE("CRC-32C of a text in pieces is that of the text", "[crc32c]") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i * i);
  for (const size_t piece : {1u, 2u, 7u, 8u, 13u, 64u}) {
    uint32_t c = 0;
    for (size_t at = 0; at < text.size(); at += piece) c = crc32c(std::string_view(text).substr(at, piece), c);
    INFO(piece);
    CHECK(c == crc32c(text));
  }
}

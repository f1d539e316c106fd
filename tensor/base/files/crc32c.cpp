// CRC-32C: eight bytes at a time with the processor's instruction, else one at a time with a table.
#include "tensor/base/files/crc32c.h"

#include <array>
#include <cstring>

#ifdef __ARM_FEATURE_CRC32
#include <arm_acle.h>
#endif

namespace pg {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = c;
  }
  return table;
}
constexpr auto kTable = make_table();

#if defined(__SSE4_2__) && defined(__x86_64__)
constexpr bool kHasInstruction = true;
uint32_t add_word(uint32_t c, uint64_t word) { return static_cast<uint32_t>(__builtin_ia32_crc32di(c, word)); }
#elif defined(__ARM_FEATURE_CRC32)
constexpr bool kHasInstruction = true;
uint32_t add_word(uint32_t c, uint64_t word) { return __crc32cd(c, word); }
#else
constexpr bool kHasInstruction = false;
uint32_t add_word(uint32_t c, uint64_t) { return c; }  // never called
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t before) {
  uint32_t c = ~before;
  if (kHasInstruction) {
    for (uint64_t word = 0; bytes.size() >= sizeof word; bytes.remove_prefix(sizeof word)) {
      std::memcpy(&word, bytes.data(), sizeof word);
      c = add_word(c, word);
    }
  }
  for (const char byte : bytes) c = kTable[(c ^ static_cast<uint8_t>(byte)) & 0xff] ^ (c >> 8);
  return ~c;
}

}  // namespace pg

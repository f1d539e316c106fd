// GPT-2's byte alphabet.
#include "tasks/bpe/byte_level.h"

#include <algorithm>
#include <array>

#include "tasks/data/utf8.h"

namespace pg {
namespace {

constexpr size_t kCodePoints = 256 + 68;  // the largest code point of the alphabet is U+0143

struct Alphabet {
  std::array<std::string, 256> symbol;
  std::array<int, kCodePoints> byte;  // of a code point; -1: it is not in the alphabet
  std::string order;

  Alphabet() {
    byte.fill(-1);
    size_t next = 256;
    for (size_t b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      const size_t point = printable ? b : next++;
      append_utf8(symbol[b], static_cast<char32_t>(point));
      byte[point] = static_cast<int>(b);
    }
    for (const int b : byte) {
      if (b >= 0) order.push_back(static_cast<char>(b));
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet the;
  return the;
}

}  // namespace

const std::string& byte_symbol(uint8_t byte) { return alphabet().symbol[byte]; }

std::string symbols_of(std::string_view bytes) {
  std::string symbols;
  for (const char c : bytes) symbols += byte_symbol(static_cast<uint8_t>(c));
  return symbols;
}

std::optional<std::string> bytes_of_symbols(std::string_view token) {
  std::string bytes;
  for (std::string_view rest = token; !rest.empty();) {
    const Utf8Unit unit = first_unit(rest);
    const int byte = unit.kind == Utf8Unit::character && unit.value < kCodePoints ? alphabet().byte[unit.value] : -1;
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    rest.remove_prefix(unit.bytes);
  }
  return bytes;
}

const std::string& bytes_in_symbol_order() { return alphabet().order; }

}  // namespace pg

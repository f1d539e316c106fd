#pragma once
// The published constants of Philox4x32-10: multipliers and the key's steps (golden ratio, sqrt(3) - 1).
#include <cstdint>

namespace pg {

struct Philox {
  static constexpr uint32_t mul0 = 0xD2511F53, mul1 = 0xCD9E8D57;
  static constexpr uint32_t weyl0 = 0x9E3779B9, weyl1 = 0xBB67AE85;
  static constexpr int rounds = 10;
};

}  // namespace pg

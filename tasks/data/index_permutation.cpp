// Permutes indices by a Feistel network.
#include "tasks/data/index_permutation.h"

#include <bit>

#include "tensor/base/error.h"
#include "tensor/base/random.h"

namespace pg {
namespace {

constexpr uint64_t kRounds = 8;

}  // namespace

IndexPermutation::IndexPermutation(int64_t size, uint64_t key) : size_(size), key_(key) {
  check(size >= 1, "IndexPermutation: the size must be at least 1, got {}", size);
  const int bits = static_cast<int>(std::bit_width(static_cast<uint64_t>(size) - 1));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
}

int64_t IndexPermutation::operator()(int64_t i) const {
  check(i >= 0 && i < size_, "IndexPermutation: expected an index in [0, {}), got {}", size_, i);
  const uint64_t left_mask = (uint64_t{1} << left_bits_) - 1, right_mask = (uint64_t{1} << right_bits_) - 1;
  auto x = static_cast<uint64_t>(i);
  do {
    uint64_t left = x >> right_bits_, right = x & right_mask;
    for (uint64_t round = 0; round < kRounds; round += 2) {
      left ^= philox4x32(key_, right, round)[0] & left_mask;
      right ^= philox4x32(key_, left, round + 1)[0] & right_mask;
    }
    x = left << right_bits_ | right;
  } while (x >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(x);
}

}  // namespace pg

#pragma once
// A pseudorandom permutation of the indices of a data set, computed one index at a time.
#include <cstdint>

namespace pg {

// A permutation of [0, size) that the key chooses. Index i is mapped without a table, so memory does not depend on
// `size`. It is a Feistel network (Luby & Rackoff 1988) of 8 rounds on the smallest power of two that is at least
// `size`, with halves of equal or neighbouring widths and Philox4x32-10 as the round function; an image of `size` or
// more is mapped again until it is smaller (cycle walking; Black & Rogaway 2002, "Ciphers with Arbitrary Finite
// Domains", section 3). The power of two is less than 2 size, so that fewer than two mappings are expected.
class IndexPermutation {
 public:
  // Error if size < 1.
  IndexPermutation(int64_t size, uint64_t key);

  int64_t size() const { return size_; }
  // The image of i. Error if i is outside [0, size).
  int64_t operator()(int64_t i) const;

 private:
  int64_t size_;
  uint64_t key_;
  int left_bits_, right_bits_;
};

}  // namespace pg

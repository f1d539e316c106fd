#pragma once
// A range of the elements of an array.
#include <cstdint>

namespace pg {

// Elements [begin, end).
struct Shard {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

}  // namespace pg

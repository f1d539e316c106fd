#pragma once
// Chunk sizes of loops that the thread pool runs.
#include <algorithm>
#include <cstdint>

#include "tensor/base/parallel.h"
#include "tensor/strided_loop.h"

namespace pg::cpu {

// Chunk sizes in elements, for cheap (memory-bound) and costly (exp-like) work: below them, one thread is faster than
// waking another.
inline constexpr int64_t kGrain = 32768, kCostlyGrain = 8192;
inline int64_t row_grain(int64_t row_size, int64_t grain) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(1, row_size));
}

}  // namespace pg::cpu

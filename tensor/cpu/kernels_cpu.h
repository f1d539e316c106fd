#pragma once
// The CPU's kernels, one function per row of tensor/kernels.def, and the chunk sizes of their loops.
#include <algorithm>
#include <cstdint>

#include "tensor/base/parallel.h"
#include "tensor/format.h"
#include "tensor/kernels.h"
#include "tensor/strided_loop.h"

namespace pg::cpu {

#define KERNEL(name, parameters) void name parameters;
#include "tensor/kernels.def"

// Chunk sizes in elements of loops that the thread pool runs, for cheap (memory-bound) and costly (exp-like) work:
// below them, one thread is faster than waking another.
inline constexpr int64_t kGrain = 32768, kCostlyGrain = 8192;
inline int64_t row_grain(int64_t row_size, int64_t grain) {
  return std::max<int64_t>(1, grain / std::max<int64_t>(1, row_size));
}

}  // namespace pg::cpu

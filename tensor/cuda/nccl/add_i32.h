#pragma once
// The sum of integers that `accumulate` of tensor/kernels.def, which computes gradients, does not have.
#include <cstdint>

namespace pg::cuda {

// y[i] += x[i] modulo 2^32, in the stream of the current device.
void add_i32(int32_t* y, const int32_t* x, int64_t n);

}  // namespace pg::cuda

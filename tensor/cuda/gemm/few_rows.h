#pragma once
// Products of up to 8 rows, without cuBLASLt.
#include "tensor/kernels.h"

namespace pg::cuda {

// matmul of tensor/kernels.h for a [M, K] with M <= 8, b [K, N] with contiguous columns of up to 8192 elements in bf16
// and 4096 in f32, rows and columns that begin at multiples of 16 bytes and consist of such, beta 0, no row sums and no
// pre-activation. Returns false, and does nothing, for all other products. The order of a sum depends on K only.
bool few_rows_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args);

}  // namespace pg::cuda

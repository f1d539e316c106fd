#pragma once
// Matrix products by NVIDIA's library cuBLASLt, where the build has it.
#include "tensor/kernels.h"

namespace pg::cuda {

// matmul of tensor/kernels.h, for c that is not empty. False, with nothing done, where cuBLASLt does not take it:
// matrices without adjacent rows or columns, batches of more than one stride, an activation of f32 or f64 (cuBLASLt's
// is good for bf16 only), row sums that add to what they held; in a simulated build always.
bool blas_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args);

}  // namespace pg::cuda

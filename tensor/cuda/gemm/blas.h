#pragma once
// Matrix products with NVIDIA's library cuBLASLt, if the build has it.
#include "tensor/cuda/runtime/launch.h"
#include "tensor/kernels.h"

namespace pg::cuda {

// matmul of tensor/kernels.h, for c that is not empty. Returns false and does nothing if cuBLASLt does not support it:
// matrices without adjacent rows or columns, batches with more than one stride, an activation in f32 or f64 (cuBLASLt's
// is accurate for bf16 only), row sums that are added to existing values. In a simulated build it always returns false.
#if defined(POLICYGRAD_CUDA_SIMULATOR)
inline bool blas_matmul(const View&, const View&, const View&, const MatmulArgs&) { return false; }
#else
bool blas_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args);
#endif

}  // namespace pg::cuda

#pragma once
// Matrix products with NVIDIA's library cuBLASLt, or its simulation.
#include <string>

#include "tensor/cuda/runtime/launch.h"
#include "tensor/kernels.h"

namespace pg::cuda {

// matmul of tensor/kernels.h, for c that is not empty. Returns false and does nothing if cuBLASLt does not support it:
// matrices without adjacent rows or columns, batches with more than one stride, an activation in f32 or f64 (cuBLASLt's
// is accurate for bf16 only), row sums that are added to existing values, or what the library itself refuses.
bool blas_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args);

// For last_matmul(): a kernel of ours computed the thread's latest product, or this part of it.
void note_own_matmul();
void note_own_part(const char* part);
// How the latest product of this thread was computed, in words (documented in tensor/backend.h).
std::string last_matmul();

// Warns, once for each kind of product, if a product of more than 1 GFLOP is left to the engine's own kernel.
void warn_if_slow(const View& c, const View& a, const MatmulArgs& args);

}  // namespace pg::cuda

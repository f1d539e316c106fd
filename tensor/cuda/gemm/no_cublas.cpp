// cuBLASLt in a simulated build: not available.
#include "tensor/cuda/gemm/blas.h"

namespace pg::cuda {

bool blas_matmul(const View&, const View&, const View&, const MatmulArgs&) { return false; }

}  // namespace pg::cuda

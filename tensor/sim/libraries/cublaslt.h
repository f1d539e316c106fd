#pragma once
// The objects of the simulated cuBLASLt, and the loops that compute a product.
#include <cstddef>
#include <cstdint>

#include "tensor/sim/include/cublasLt.h"

struct cublasLtMatrixLayoutOpaque_t {
  cudaDataType_t type;
  int64_t rows, columns, ld;
  int32_t batch = 1;
  int64_t batch_step = 0;  // in elements
};

struct cublasLtMatmulDescOpaque_t {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void *bias = nullptr, *aux = nullptr;
  int64_t aux_ld = 0, aux_batch_step = 0;
  int32_t bias_type = -1;
};

struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t workspace = 0;
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C, D
};

namespace pg::sim {

using MatrixLayout = cublasLtMatrixLayoutOpaque_t;

inline size_t size_of(cudaDataType_t type) { return type == CUDA_R_16BF ? 2 : type == CUDA_R_64F ? 8 : 4; }
inline bool has_bias(uint32_t epilogue) { return (epilogue & CUBLASLT_EPILOGUE_BIAS) != 0; }
inline bool has_aux(uint32_t epilogue) { return (epilogue & 128) != 0; }

// A product whose parts fit together.
struct GemmProblem {
  cublasLtMatmulDescOpaque_t operation;
  MatrixLayout a, b, c, d;
  int64_t m = 0, n = 0, k = 0;
};

struct GemmMemory {
  const void *a, *b, *c;
  void *d, *workspace;
  size_t workspace_bytes;
};

// D = epilogue(alpha·op(A)·op(B) + beta·C), with NaNs written to all of the workspace. K is cut into `parts` parts of
// equal length (the last is shorter). In each part the products are added in the order of k by fused multiply-adds in
// the compute type, and the sums of the parts are added in order. The epilogue rounds its result once. Row sums of
// BGRADB are added in the order of k. Checks that all memory is allocated on `device`, and reports its use. A Report
// counts one launch.
void compute(const GemmProblem& problem, const GemmMemory& memory, double alpha, double beta, int parts, int device);

}  // namespace pg::sim

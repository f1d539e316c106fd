#pragma once
// A product of the simulated cuBLASLt with everything that the library wants for it.
#include <cublasLt.h>

#include <vector>

#include "tests/catch.h"
#include "tests/sim/device_array.h"

namespace pg::testing {

inline constexpr size_t kWorkspace = 1 << 20;

// A product of column-major matrices in f32, with arrays of just the size that it needs.
struct BlasCase {
  int64_t m, n, k;
  bool transpose_a = false, transpose_b = false;
  int64_t extra = 0;  // elements between columns
  int32_t batch = 1;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  float alpha = 1, beta = 0;
  int64_t aux_ld = 0;

  int64_t rows_a() const { return transpose_a ? k : m; }
  int64_t rows_b() const { return transpose_b ? n : k; }
  size_t size_a() const { return static_cast<size_t>((rows_a() + extra) * (transpose_a ? m : k) * batch); }
  size_t size_b() const { return static_cast<size_t>((rows_b() + extra) * (transpose_b ? k : n) * batch); }
  size_t size_d() const { return static_cast<size_t>((m + extra) * n * batch); }
  size_t a_at(int64_t l, int64_t i, int64_t d) const {
    const int64_t ld = rows_a() + extra, step = ld * (transpose_a ? m : k);
    return static_cast<size_t>(l * step + (transpose_a ? d + i * ld : i + d * ld));
  }
  size_t b_at(int64_t l, int64_t d, int64_t j) const {
    const int64_t ld = rows_b() + extra, step = ld * (transpose_b ? k : n);
    return static_cast<size_t>(l * step + (transpose_b ? j + d * ld : d + j * ld));
  }
  size_t d_at(int64_t l, int64_t i, int64_t j) const { return static_cast<size_t>((l * n + j) * (m + extra) + i); }
};

// The library's objects for a product.
class BlasLibrary {
 public:
  explicit BlasLibrary(const BlasCase& p, cudaDataType type = CUDA_R_32F, cudaDataType result = CUDA_R_32F) {
    const bool wide = type == CUDA_R_64F;
    cublasLtCreate(&handle);
    cublasLtMatmulDescCreate(&operation, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                             wide ? CUDA_R_64F : CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{p.transpose_a});
    set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{p.transpose_b});
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, p.epilogue);
    if (p.aux_ld) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.aux_ld);
    a = layout(type, p.rows_a(), p.transpose_a ? p.m : p.k, p.extra, p.batch);
    b = layout(type, p.rows_b(), p.transpose_b ? p.k : p.n, p.extra, p.batch);
    d = layout(result, p.m, p.n, p.extra, p.batch);
    cublasLtMatmulPreferenceCreate(&preference);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspace});
  }
  ~BlasLibrary() {
    for (const auto x : {a, b, d}) cublasLtMatrixLayoutDestroy(x);
    cublasLtMatmulDescDestroy(operation);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtDestroy(handle);
  }
  BlasLibrary(const BlasLibrary&) = delete;

  template <class T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, T value) {
    return cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value));
  }
  template <class T>
  cublasStatus_t prefer(cublasLtMatmulPreferenceAttributes_t attribute, T value) {
    return cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value));
  }
  static cublasLtMatrixLayout_t layout(cudaDataType type, int64_t rows, int64_t columns, int64_t extra, int32_t batch) {
    cublasLtMatrixLayout_t made;
    cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(columns), rows + extra);
    const int64_t step = (rows + extra) * columns;
    cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof(batch));
    cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof(step));
    return made;
  }

  std::vector<cublasLtMatmulAlgo_t> suggestions() {
    cublasLtMatmulHeuristicResult_t found[8];
    int count = 0;
    status = cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, d, d, preference, 8, found, &count);
    std::vector<cublasLtMatmulAlgo_t> all;
    for (int i = 0; i < count; ++i) all.push_back(found[i].algo);
    return all;
  }
  cublasStatus_t refusal() {
    const size_t count = suggestions().size();
    CHECK((status == CUBLAS_STATUS_SUCCESS) == (count > 0));
    return status;
  }

  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t operation;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulPreference_t preference;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
};

inline std::vector<float> numbers(size_t count, int seed) {
  std::vector<float> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 101) % 23 - 11) / 8;
  return all;
}

struct BlasArrays {
  explicit BlasArrays(const BlasCase& p)
      : host_a(numbers(p.size_a(), 1)),
        host_b(numbers(p.size_b(), 2)),
        host_d(numbers(p.size_d(), 3)),
        a(host_a),
        b(host_b),
        d(host_d),
        workspace(kWorkspace) {}
  std::vector<float> host_a, host_b, host_d;
  DeviceArray<float> a, b, d;
  DeviceArray<char> workspace;
};

inline cublasStatus_t multiply(const BlasCase& p, const BlasLibrary& l, const BlasArrays& x,
                               const cublasLtMatmulAlgo_t& algorithm, size_t workspace = kWorkspace,
                               cudaStream_t stream = nullptr) {
  return cublasLtMatmul(l.handle, l.operation, &p.alpha, x.a.data(), l.a, x.b.data(), l.b, &p.beta, x.d.data(), l.d,
                        x.d.data(), l.d, &algorithm, x.workspace.data(), workspace, stream);
}

}  // namespace pg::testing

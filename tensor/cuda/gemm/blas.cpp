// cuBLASLt. Its matrices are column-major: our row-major c [M, N] is its cᵀ = bᵀ·aᵀ [N, M], so its first operand is our
// b. For every kind of product the algorithms it suggests are timed once and the fastest is used. A file stores this
// choice (plan_file.h), because another algorithm may give different bits.
#include "tensor/cuda/gemm/blas.h"

#include <cublasLt.h>

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/cuda/gemm/plan_file.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/synchronous.h"
#include "tensor/format.h"
#include "tensor/strided_loop.h"

namespace pg::cuda {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;  // NVIDIA's recommendation for its newest GPUs
constexpr int kCandidates = 8;                   // number of suggestions that are timed
constexpr int kTimedRuns = 5;

void check_blas(cublasStatus_t status, const char* operation) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail("{}: cuBLASLt says {} ({})", operation, cublasLtGetStatusString(status), cublasLtGetStatusName(status));
}

template <auto kDestroy>
struct Destroy {
  void operator()(auto* x) const { kDestroy(x); }
};
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy<cublasLtMatrixLayoutDestroy>>;
using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy<cublasLtMatmulDescDestroy>>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy<cublasLtMatmulPreferenceDestroy>>;
using Event = std::unique_ptr<CUevent_st, Destroy<cudaEventDestroy>>;

Event make_event() {
  cudaEvent_t event;
  check(cudaEventCreate(&event), "cudaEventCreate");
  return Event(event);
}

// The library and its workspace on a device, for the whole run; products on one stream may share the workspace.
struct Library {
  cublasLtHandle_t handle;
  void* workspace;
  explicit Library(int) {
    check_blas(cublasLtCreate(&handle), "cublasLtCreate");
    check(cudaMalloc(&workspace, kWorkspace), "cudaMalloc of cuBLASLt's workspace");
  }
};
Library& library() { return of_current_device<Library>(); }

cudaDataType_t type_of(DType type) { return type == bf16 ? CUDA_R_16BF : type == f64 ? CUDA_R_64F : CUDA_R_32F; }

// Memory layout of the matrices [rows, columns] of a view: row-major, or column-major if `transposed`.
struct Stored {
  bool transposed;
  int64_t ld, batch_step;
};
// The layout of a view [rows, columns] or [batch, rows, columns]; nullopt if neither rows nor columns are adjacent in
// memory, or if they overlap.
std::optional<Stored> stored(const View& x, int64_t batch_step) {
  const int r = x.rank() - 2;
  const int64_t rows = x.shape[r], columns = x.shape[r + 1], row = x.strides[r], column = x.strides[r + 1];
  if ((column == 1 || columns == 1) && (row >= columns || rows == 1)) {
    return Stored{false, rows == 1 ? columns : row, batch_step};
  }
  if ((row == 1 || rows == 1) && (column >= rows || columns == 1)) {
    return Stored{true, columns == 1 ? rows : column, batch_step};
  }
  return std::nullopt;
}

// A product as it is passed to cuBLASLt.
struct Request {
  int64_t m, n, k, batch;
  Stored a, b, c, pre;  // c and pre are row-major
  DType inputs, result;
  cublasLtEpilogue_t epilogue;
  float beta;
  void *a_data, *b_data, *c_data, *bias, *pre_data;  // bias: added, or, with BGRADB, written
  DType bias_type;

  // Everything that a plan depends on; for the addresses only their alignment.
  std::array<int64_t, 24> key() const {
    const auto alignment = [](const void* p) { return int64_t{alignment_of(p)}; };
    return {m,
            n,
            k,
            batch,
            a.transposed,
            a.ld,
            a.batch_step,
            b.transposed,
            b.ld,
            b.batch_step,
            c.ld,
            c.batch_step,
            pre.ld,
            pre.batch_step,
            int64_t(inputs),
            int64_t(result),
            int64_t(bias_type),
            int64_t(epilogue),
            beta != 0,
            alignment(a_data),
            alignment(b_data),
            alignment(c_data),
            alignment(bias),
            alignment(pre_data)};
  }
  // In bytes, at most 256.
  static uint32_t alignment_of(const void* p) {
    return 1u << std::countr_zero(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(p)) | 256u);
  }
};

// The descriptors of a product and the algorithm for it; without an algorithm, cuBLASLt does not support the product.
struct Plan {
  Operation operation;
  Layout a, b, c;
  std::optional<cublasLtMatmulAlgo_t> algorithm;
};

template <class T>
void set(const Operation& operation, cublasLtMatmulDescAttributes_t attribute, T value) {
  check_blas(cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof(value)),
             "cublasLtMatmulDescSetAttribute");
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, T value) {
  check_blas(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
             "cublasLtMatmulPreferenceSetAttribute");
}

// Our row-major [rows, columns] is their column-major [columns, rows], unless it is `transposed`.
Layout layout(DType type, int64_t rows, int64_t columns, const Stored& stored, int64_t batch) {
  cublasLtMatrixLayout_t made;
  const int64_t fast = stored.transposed ? rows : columns, slow = stored.transposed ? columns : rows;
  check_blas(cublasLtMatrixLayoutCreate(&made, type_of(type), static_cast<uint64_t>(fast), static_cast<uint64_t>(slow),
                                        stored.ld),
             "cublasLtMatrixLayoutCreate");
  Layout owned(made);
  const auto count = static_cast<int32_t>(batch);
  check_blas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
             "cublasLtMatrixLayoutSetAttribute");
  check_blas(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stored.batch_step,
                                              sizeof(stored.batch_step)),
             "cublasLtMatrixLayoutSetAttribute");
  return owned;
}

// Sets the addresses in a plan's descriptor.
void point(const Plan& plan, const Request& r) {
  if (r.bias) set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, r.bias);
  if (r.pre_data) set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, r.pre_data);
}

Plan describe(const Request& r) {
  const bool wide = r.inputs == f64;
  cublasLtMatmulDesc_t made;
  // CUBLAS_COMPUTE_32F keeps f32 products in f32: TF32 would be CUBLAS_COMPUTE_32F_FAST_TF32.
  check_blas(
      cublasLtMatmulDescCreate(&made, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, wide ? CUDA_R_64F : CUDA_R_32F),
      "cublasLtMatmulDescCreate");
  Plan plan{Operation(made), layout(r.inputs, r.m, r.k, r.a, r.batch), layout(r.inputs, r.k, r.n, r.b, r.batch),
            layout(r.result, r.m, r.n, r.c, r.batch), std::nullopt};
  set<int32_t>(plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, r.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<int32_t>(plan.operation, CUBLASLT_MATMUL_DESC_TRANSB, r.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  set<uint32_t>(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, r.epilogue);
  if (r.bias) set<int32_t>(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type_of(r.bias_type));
  if (r.pre_data) {
    set<int64_t>(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, r.pre.ld);
    set<int64_t>(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, r.pre.batch_step);
  }
  point(plan, r);
  return plan;
}

// The algorithms that cuBLASLt suggests, the one expected to be fastest first.
std::vector<cublasLtMatmulAlgo_t> suggestions(const Plan& plan, const Request& r) {
  cublasLtMatmulPreference_t made;
  check_blas(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
  const Preference preference(made);
  set<uint64_t>(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
  // Partial sums of products split along K must not be rounded to bf16.
  set<uint32_t>(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Request::alignment_of(r.b_data));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Request::alignment_of(r.a_data));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Request::alignment_of(r.c_data));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Request::alignment_of(r.c_data));
  cublasLtMatmulHeuristicResult_t found[kCandidates];
  int count = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(library().handle, plan.operation.get(), plan.b.get(), plan.a.get(), plan.c.get(),
                                     plan.c.get(), preference.get(), kCandidates, found, &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  if (status == CUBLAS_STATUS_INVALID_VALUE && r.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return {};  // some epilogues
  check_blas(status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < count; ++i) {
    if (found[i].state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(found[i].algo);
  }
  return algorithms;
}

// Starts the product; the old values of c are read at c_data, the result is written to `to`.
cublasStatus_t start(const Plan& plan, const Request& r, const cublasLtMatmulAlgo_t& algorithm, void* to) {
  const double one_wide = 1, beta_wide = r.beta;
  const float one = 1, beta = r.beta;
  const bool wide = r.inputs == f64;
  const void *alpha_at = wide ? static_cast<const void*>(&one_wide) : &one,
             *beta_at = wide ? static_cast<const void*>(&beta_wide) : &beta;
  return cublasLtMatmul(library().handle, plan.operation.get(), alpha_at, r.b_data, plan.b.get(), r.a_data,
                        plan.a.get(), beta_at, r.c_data, plan.c.get(), to, plan.c.get(), &algorithm,
                        library().workspace, kWorkspace, stream());
}

// Under POLICYGRAD_CUDA_SYNC=1, waits for the product that was started, so that an error names it.
void wait_if_synchronous(const Request& r) {
  if (!synchronous()) return;
  const cudaError_t status = cudaStreamSynchronize(stream());
  if (status == cudaSuccess) return;
  check(status, fmt::format("cuBLASLt product of {} x {} x {} (m, n, k; {} of them), {} to {}, epilogue {}", r.m, r.n,
                            r.k, r.batch, name_of(r.inputs), name_of(r.result), static_cast<int>(r.epilogue))
                    .c_str());
}

// The fastest of several algorithms. If the product does not add to c, the timed runs overwrite c; otherwise they write
// to scratch memory.
std::optional<cublasLtMatmulAlgo_t> fastest(const Plan& plan, const Request& r,
                                            const std::vector<cublasLtMatmulAlgo_t>& algorithms) {
  std::optional<Scratch<char>> elsewhere;
  if (r.beta != 0) {
    const int64_t extent = (r.batch - 1) * r.c.batch_step + (r.m - 1) * r.c.ld + r.n;
    elsewhere.emplace(extent * static_cast<int64_t>(size_of(r.result)));
  }
  void* const to = elsewhere ? elsewhere->data() : r.c_data;
  const Event begin = make_event(), end = make_event();
  std::optional<cublasLtMatmulAlgo_t> best;
  float best_time = 0;
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms) {
    if (start(plan, r, algorithm, to) != CUBLAS_STATUS_SUCCESS) continue;  // also loads the kernel
    wait_if_synchronous(r);
    check(cudaEventRecord(begin.get(), stream()), "cudaEventRecord");
    for (int i = 0; i < kTimedRuns; ++i) check_blas(start(plan, r, algorithm, to), "cublasLtMatmul");
    check(cudaEventRecord(end.get(), stream()), "cudaEventRecord");
    check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float time;
    check(cudaEventElapsedTime(&time, begin.get(), end.get()), "cudaEventElapsedTime");
    if (!best || time < best_time) best = algorithm, best_time = time;
  }
  return best;
}

// The plans of a device that this process has used, and their file.
struct Plans {
  explicit Plans(int device) : Plans(fmt::format("{}, cuBLASLt {}", device_info(device).name, cublasLtGetVersion())) {}
  std::mutex mutex;
  std::map<std::array<int64_t, 24>, Plan> known;
  PlanFile file;

 private:
  explicit Plans(const std::string& machine) : file(plan_path(machine), machine) {}
};

// The algorithm that an earlier process selected, if cuBLASLt still accepts it.
std::optional<cublasLtMatmulAlgo_t> remembered(const PlanFile& file, const Plan& plan, const PlanFile::Key& key) {
  const PlanFile::Algorithm* words = file.find(key);
  if (!words) return std::nullopt;
  const auto algorithm = std::bit_cast<cublasLtMatmulAlgo_t>(*words);
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t status = cublasLtMatmulAlgoCheck(library().handle, plan.operation.get(), plan.b.get(),
                                                        plan.a.get(), plan.c.get(), plan.c.get(), &algorithm, &result);
  const bool good = status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspace;
  return good ? std::optional(algorithm) : std::nullopt;
}

// Runs the product by the plan's algorithm.
void multiply(const Plan& plan, const Request& r) {
  check_blas(start(plan, r, *plan.algorithm, r.c_data), "cublasLtMatmul");
  wait_if_synchronous(r);
}

// False if cuBLASLt has no algorithm for the product. While a graph is captured nothing can be timed: then the first
// suggestion is used, and the choice is not stored.
bool run(const Request& r) {
  auto& plans = of_current_device<Plans>();
  const std::lock_guard lock(plans.mutex);
  const auto key = r.key();
  const auto known = plans.known.find(key);
  if (known != plans.known.end()) {
    const Plan& plan = known->second;
    if (!plan.algorithm) return false;
    point(plan, r);
    multiply(plan, r);
    return true;
  }
  Plan plan = describe(r);
  const PlanFile::Key name(key.begin(), key.end());
  plan.algorithm = remembered(plans.file, plan, name);
  bool chosen = plan.algorithm.has_value();
  if (!chosen) {
    const std::vector<cublasLtMatmulAlgo_t> algorithms = suggestions(plan, r);
    chosen = !capturing();
    if (chosen) {
      plan.algorithm = fastest(plan, r, algorithms);
      if (plan.algorithm) plans.file.add(name, std::bit_cast<PlanFile::Algorithm>(*plan.algorithm));
    } else if (!algorithms.empty()) {
      plan.algorithm = algorithms.front();
    }
  }
  const bool done = plan.algorithm.has_value();
  if (done) multiply(plan, r);
  if (chosen) plans.known.emplace(key, std::move(plan));
  return done;
}

View transpose(View x) {
  if (!x) return x;
  const int r = x.rank() - 2;
  std::swap(x.shape[r], x.shape[r + 1]);
  std::swap(x.strides[r], x.strides[r + 1]);
  return x;
}

// Row n of their D is our column n, so their bias, one value per row of D, is added to every row of ours. AUX, with D's
// shape, is pre_activation, which GELU_AUX writes and DGELU reads. BGRADB sums their B [K, M], our a, along K and gives
// one value per column of D, our row.
cublasLtEpilogue_t epilogue_of(const MatmulArgs& args) {
  if (args.row_sums) return CUBLASLT_EPILOGUE_BGRADB;
  if (args.activation == Activation::gelu_tanh_backward) return CUBLASLT_EPILOGUE_DGELU;
  if (args.activation == Activation::none) return args.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  if (args.pre_activation) return args.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return args.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

// Returns false for: GELU in f32 (not accurate) and f64 (not offered); more than one of bias, row sums and the
// derivative of GELU; row sums with a different type than the result, or not aligned to 16 bytes.
bool has_epilogue(const MatmulArgs& args, DType inputs, DType result) {
  const bool active = args.activation != Activation::none;
  if (active && result != bf16) return false;
  if (args.activation == Activation::none && args.pre_activation) return false;
  if (args.activation == Activation::gelu_tanh_backward && args.bias) return false;
  const View& sums = args.row_sums;
  if (!sums) return true;
  return !active && !args.bias && args.row_sums_beta == 0 && inputs != f64 && sums.dtype == result &&
         Request::alignment_of(sums.data) >= 16;
}

}  // namespace

bool blas_matmul(const View& c, const View& a, const View& b, const MatmulArgs& args) {
  const View &pre = args.pre_activation, &vector = args.row_sums ? args.row_sums : args.bias;
  const int r = c.rank() - 2;
  if (c.strides[r + 1] != 1 && c.shape[r + 1] != 1 && c.strides[r] == 1 && !vector) {  // cᵀ = bᵀ·aᵀ
    MatmulArgs transposed = args;
    transposed.pre_activation = transpose(pre);
    return blas_matmul(transpose(c), transpose(b), transpose(a), transposed);
  }
  if (a.shape.back() == 0 || (a.dtype != bf16 && c.dtype != a.dtype)) return false;
  if (!has_epilogue(args, a.dtype, c.dtype) || (vector && vector.shape[0] > 1 && vector.strides[0] != 1)) return false;
  // The batch must have a single stride for each matrix.
  const auto outer = [r](const Dims& x) { return Dims(std::span(x.begin(), static_cast<size_t>(r))); };
  const Strides sc = outer(c.strides), sa = outer(a.strides), sb = outer(b.strides), sp = pre ? outer(pre.strides) : sc;
  const StridedLoop<4> batch = plan_loop<4>(outer(c.shape), std::array<const Strides*, 4>{&sc, &sa, &sb, &sp});
  if (batch.rank != 1 || batch.n > INT32_MAX) return false;
  const auto step = [&batch](int operand) { return batch.n == 1 ? 0 : batch.inner_stride(operand); };
  const auto to = stored(c, step(0)), left = stored(a, step(1)), right = stored(b, step(2));
  const auto kept = pre ? stored(pre, step(3)) : Stored{};
  if (!to || !left || !right || !kept || to->transposed || kept->transposed) return false;
  if (batch.n > 1 && to->batch_step == 0) return false;
  if (kept->ld % 8 != 0 || kept->batch_step % 8 != 0) return false;  // required by cuBLASLt
  return run({.m = c.shape[r],
              .n = c.shape[r + 1],
              .k = a.shape.back(),
              .batch = batch.n,
              .a = *left,
              .b = *right,
              .c = *to,
              .pre = *kept,
              .inputs = a.dtype,
              .result = c.dtype,
              .epilogue = epilogue_of(args),
              .beta = args.beta,
              .a_data = a.data,
              .b_data = b.data,
              .c_data = c.data,
              .bias = vector.data,
              .pre_data = pre.data,
              .bias_type = vector.dtype});
}

}  // namespace pg::cuda

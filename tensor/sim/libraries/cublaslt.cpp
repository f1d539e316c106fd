// cuBLASLt for the simulator: the constraints of a product, a heuristic that suggests several algorithms with different
// bits, and products as work of a stream.
#include "tensor/sim/include/cublasLt.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "tensor/base/error.h"
#include "tensor/sim/libraries/blas.h"
#include "tensor/sim/libraries/cublaslt.h"
#include "tensor/sim/stream.h"

using namespace pg::sim;

struct cublasLtContext {
  int device;  // that was current
};

namespace {

struct Algorithm {
  int id;
  uint32_t tile, stages;  // numbers of cublasLt.h
  int split;              // of K, by partial sums in the workspace
  int parts;              // of K, whose sums are added in order
  size_t alignment;       // of addresses and strides, in bytes
};
constexpr Algorithm kAlgorithms[kBlasAlgorithms] = {
    {7, 20, 16, 2, 2, 16}, {7, 20, 16, 1, 1, 16}, {3, 15, 9, 2, 4, 1}, {3, 15, 9, 1, 3, 1}};
constexpr uint64_t kMark = 0x73696d2d626c6173;  // in algorithms of this library

// What tests read and change.
struct State {
  std::mutex mutex;
  BlasCounts counts;
  BlasRefusal::Refuses refuses;
  bool refused_value = false;  // the answer is CUBLAS_STATUS_INVALID_VALUE
  std::vector<double> seconds{0.2, 0.1, 0.4, 0.3};
};
State& state() {
  static auto* all = new State;
  return *all;
}

bool is_multiple(const void* address, size_t bytes) { return reinterpret_cast<uintptr_t>(address) % bytes == 0; }

bool good_layout(const MatrixLayout& x) { return x.rows > 0 && x.columns > 0 && x.ld >= x.rows && x.batch > 0; }

cublasStatus_t check_types(const GemmProblem& p) {
  const bool wide = p.operation.compute == CUBLAS_COMPUTE_64F;
  const auto type = p.a.type, result = p.d.type;
  const bool good = wide ? p.operation.scale == CUDA_R_64F && type == CUDA_R_64F && result == CUDA_R_64F
                         : p.operation.compute == CUBLAS_COMPUTE_32F && p.operation.scale == CUDA_R_32F &&
                               type != CUDA_R_64F && (result == type || result == CUDA_R_32F);
  return good && p.b.type == type && p.c.type == result ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_epilogue(const GemmProblem& p) {
  const auto& o = p.operation;
  switch (o.epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_EPILOGUE_BIAS:
      break;
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_BGRADB:
      if (o.compute == CUBLAS_COMPUTE_64F) return CUBLAS_STATUS_NOT_SUPPORTED;
      break;
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  const bool gradient = o.epilogue == CUBLASLT_EPILOGUE_BGRADB;
  if (has_bias(o.epilogue) || gradient) {
    if (!o.bias) return CUBLAS_STATUS_INVALID_VALUE;
    if (o.bias_type >= 0 && o.bias_type != static_cast<int32_t>(p.d.type)) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (gradient && !is_multiple(o.bias, 16)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (has_aux(o.epilogue)) {
    if (!o.aux || o.aux_ld < p.m || o.aux_ld % 8 != 0 || o.aux_batch_step % 8 != 0) return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_multiple(o.aux, 16)) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

BlasProduct described(const GemmProblem& p) {
  return {p.m, p.n, p.k, p.d.batch, static_cast<int>(p.a.type), static_cast<int>(p.d.type), p.operation.epilogue};
}

// Puts the parts of a product together. The status of the first constraint that they do not meet.
cublasStatus_t make_problem(GemmProblem* out, BlasRefusal::Call call, cublasLtMatmulDesc_t operation,
                            cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                            cublasLtMatrixLayout_t d) {
  if (!operation || !a || !b || !c || !d) return CUBLAS_STATUS_INVALID_VALUE;
  *out = {*operation, *a,      *b,         *c,
          *d,         d->rows, d->columns, operation->transpose_a == CUBLAS_OP_T ? a->rows : a->columns};
  const bool across_a = operation->transpose_a == CUBLAS_OP_T, across_b = operation->transpose_b == CUBLAS_OP_T;
  for (const MatrixLayout* x : {a, b, c, d}) {
    if (!good_layout(*x) || x->batch != d->batch) return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool fits = (across_a ? a->columns : a->rows) == d->rows && (across_b ? b->rows : b->columns) == d->columns &&
                    (across_b ? b->columns : b->rows) == out->k && c->rows == d->rows && c->columns == d->columns;
  if (!fits || (d->batch > 1 && d->batch_step == 0)) return CUBLAS_STATUS_INVALID_VALUE;
  if (const auto status = check_types(*out)) return status;
  if (const auto status = check_epilogue(*out)) return status;
  std::lock_guard lock(state().mutex);
  if (!state().refuses || !state().refuses(described(*out), call)) return CUBLAS_STATUS_SUCCESS;
  return state().refused_value ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_SUPPORTED;
}

size_t workspace_of(const GemmProblem& p, const Algorithm& algorithm) {
  if (algorithm.split == 1) return 0;
  return static_cast<size_t>(algorithm.split * p.m * p.n * p.d.batch) * size_of(p.operation.scale);
}

bool strides_are_multiples(const GemmProblem& p, size_t alignment) {
  for (const MatrixLayout* x : {&p.a, &p.b, &p.c, &p.d}) {
    const auto size = static_cast<int64_t>(size_of(x->type)), bytes = static_cast<int64_t>(alignment);
    if (x->ld * size % bytes != 0 || x->batch_step * size % bytes != 0) return false;
  }
  return true;
}

// Whether the algorithm can compute the product, at addresses that are aligned well enough.
bool can(const GemmProblem& p, const Algorithm& algorithm) {
  const bool vector_fits = !has_bias(p.operation.epilogue) || is_multiple(p.operation.bias, algorithm.alignment);
  return p.k >= algorithm.split && vector_fits && strides_are_multiples(p, algorithm.alignment);
}

cublasLtMatmulAlgo_t written(int number) { return {{kMark, static_cast<uint64_t>(number)}}; }
// -1 for what is no algorithm of this library.
int number_of(const cublasLtMatmulAlgo_t* algorithm) {
  if (!algorithm || algorithm->data[0] != kMark || algorithm->data[1] >= kBlasAlgorithms) return -1;
  return static_cast<int>(algorithm->data[1]);
}

bool usable(cublasLtHandle_t handle) { return handle && handle->device == current_device(); }

}  // namespace

namespace pg::sim {

BlasCounts blas_counts() {
  std::lock_guard lock(state().mutex);
  return state().counts;
}

BlasRefusal::BlasRefusal(Refuses refuses, bool invalid_value) {
  std::lock_guard lock(state().mutex);
  before_ = std::exchange(state().refuses, std::move(refuses));
  before_invalid_ = std::exchange(state().refused_value, invalid_value);
}
BlasRefusal::~BlasRefusal() {
  std::lock_guard lock(state().mutex);
  state().refuses = std::move(before_);
  state().refused_value = before_invalid_;
}

BlasTimes::BlasTimes(const std::vector<double>& seconds) {
  check(seconds.size() == kBlasAlgorithms, "BlasTimes: expected {} times, got {}", kBlasAlgorithms, seconds.size());
  std::lock_guard lock(state().mutex);
  before_ = std::exchange(state().seconds, seconds);
}
BlasTimes::~BlasTimes() {
  std::lock_guard lock(state().mutex);
  state().seconds = before_;
}

}  // namespace pg::sim

size_t cublasLtGetVersion() { return 1; }  // changes when an algorithm gives other bits

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasLtContext{current_device()};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t* results, int* returned) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!preference || !results || !returned || requested < 1) return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  GemmProblem p;
  if (const auto status = make_problem(&p, BlasRefusal::Call::heuristic, operation, a, b, c, d)) return status;
  for (int i = 0; i < kBlasAlgorithms && *returned < requested; ++i) {
    const Algorithm& algorithm = kAlgorithms[i];
    const size_t workspace = workspace_of(p, algorithm);
    const bool reduces = (preference->reduction_schemes & CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0;
    const bool aligned = std::ranges::all_of(preference->alignment, [&](auto x) { return x >= algorithm.alignment; });
    if (!can(p, algorithm) || !aligned || workspace > preference->workspace || (algorithm.split > 1 && !reduces)) {
      continue;
    }
    results[(*returned)++] = {written(i), workspace, CUBLAS_STATUS_SUCCESS, 1, {}};
  }
  std::lock_guard lock(state().mutex);
  ++state().counts.heuristics;
  return *returned > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int number = number_of(algorithm);
  if (number < 0 || !result) return CUBLAS_STATUS_INVALID_VALUE;
  GemmProblem p;
  if (const auto status = make_problem(&p, BlasRefusal::Call::check, operation, a, b, c, d)) return status;
  if (!can(p, kAlgorithms[number])) return CUBLAS_STATUS_NOT_SUPPORTED;
  *result = {*algorithm, workspace_of(p, kAlgorithms[number]), CUBLAS_STATUS_SUCCESS, 1, {}};
  std::lock_guard lock(state().mutex);
  ++state().counts.checks;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute, void* value,
                                                    size_t bytes, size_t* written) {
  const int number = number_of(algorithm);
  if (number < 0 || !value || bytes != sizeof(uint32_t)) return CUBLAS_STATUS_INVALID_VALUE;
  const Algorithm& a = kAlgorithms[number];
  uint32_t found = 0;
  if (attribute == CUBLASLT_ALGO_CONFIG_ID) found = static_cast<uint32_t>(a.id);
  if (attribute == CUBLASLT_ALGO_CONFIG_TILE_ID) found = a.tile;
  if (attribute == CUBLASLT_ALGO_CONFIG_STAGES_ID) found = a.stages;
  if (attribute == CUBLASLT_ALGO_CONFIG_SPLITK_NUM) found = static_cast<uint32_t>(a.split);
  if (attribute == CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME && a.split > 1) {
    found = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  }
  std::memcpy(value, &found, bytes);
  if (written) *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  if (!usable(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int number = number_of(algorithm);
  if (number < 0 || !alpha || !beta || !a || !b || !d) return CUBLAS_STATUS_INVALID_VALUE;
  const Algorithm& chosen = kAlgorithms[number];
  GemmProblem p;
  const auto status = make_problem(&p, BlasRefusal::Call::product, operation, a_layout, b_layout, c_layout, d_layout);
  if (status) return status;
  if (!can(p, chosen)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool wide = p.operation.scale == CUDA_R_64F;
  const auto scalar = [wide](const void* x) {
    return wide ? *static_cast<const double*>(x) : *static_cast<const float*>(x);
  };
  const double scale = scalar(alpha), kept = scalar(beta);
  if (kept != 0 && !c) return CUBLAS_STATUS_INVALID_VALUE;
  const size_t needed = workspace_of(p, chosen);
  if (needed > workspace_bytes || (needed > 0 && (!workspace || !is_multiple(workspace, 16)))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const std::pair<const void*, cudaDataType_t> operands[] = {
      {a, p.a.type}, {b, p.b.type}, {c, p.c.type}, {d, p.d.type}};
  for (const auto& [address, type] : operands) {
    const size_t bytes = std::max(size_of(type), chosen.alignment);
    pg::check(is_multiple(address, bytes),
              "cublasLtMatmul: an address that {} does not divide; the algorithm needs the alignment that was promised "
              "to the heuristic",
              bytes);
  }
  if (stream && stream->device != handle->device) return CUBLAS_STATUS_EXECUTION_FAILED;
  double seconds = 0;
  {
    std::lock_guard lock(state().mutex);
    auto& counts = state().counts;
    ++counts.products;
    ++counts.by_epilogue[p.operation.epilogue];
    ++counts.by_algorithm[number];
    seconds = state().seconds[static_cast<size_t>(number)];
  }
  const GemmMemory memory{a, b, c, d, workspace, needed};
  Work work{"cublasLtMatmul", [=, device = handle->device] { compute(p, memory, scale, kept, chosen.parts, device); }};
  work.seconds = seconds;
  return give(stream, std::move(work)) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

// The algorithm for every kind of product (request.h). Where a kind comes first, the algorithms that cuBLASLt suggests
// are timed, and the fastest is used from then on. A file stores this choice (plan_file.h), because another algorithm
// may give different bits.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/base/error.h"
#include "tensor/cuda/gemm/blas.h"
#include "tensor/cuda/gemm/plan_file.h"
#include "tensor/cuda/gemm/request.h"
#include "tensor/cuda/runtime/runtime.h"
#include "tensor/cuda/runtime/synchronous.h"

namespace pg::cuda {
namespace {

constexpr size_t kWorkspace = size_t{32} << 20;  // NVIDIA's recommendation for its newest GPUs
constexpr int kCandidates = 8;                   // number of suggestions that are timed
constexpr int kTimedRuns = 5;

void check_blas(cublasStatus_t status, const char* operation) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  check(cudaGetLastError(), operation);  // says more than CUBLAS_STATUS_EXECUTION_FAILED
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

// Whether cuBLASLt does not support a product. It answers so for epilogues, types, strides and alignments.
bool refused(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
}

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
  if (refused(status)) return {};
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

// The algorithm of a kind.
struct Choice {
  cublasLtMatmulAlgo_t algorithm;
  std::vector<double> seconds = {};  // per product, the fastest first; empty if an earlier process measured
};

// The fastest of several algorithms. If the product does not add to c, the timed runs overwrite c; otherwise they write
// to scratch memory.
std::optional<Choice> fastest(const Plan& plan, const Request& r, const std::vector<cublasLtMatmulAlgo_t>& algorithms) {
  std::optional<Scratch<char>> elsewhere;
  if (r.beta != 0) {
    const int64_t extent = (r.batch - 1) * r.c.batch_step + (r.m - 1) * r.c.ld + r.n;
    elsewhere.emplace(extent * static_cast<int64_t>(size_of(r.result)));
  }
  void* const to = elsewhere ? elsewhere->data() : r.c_data;
  const Event begin = make_event(), end = make_event();
  std::optional<Choice> best;
  std::vector<double> seconds;
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms) {
    if (start(plan, r, algorithm, to) != CUBLAS_STATUS_SUCCESS) {  // also loads the kernel
      check(cudaGetLastError(), "cublasLtMatmul");                 // an error of an earlier kernel
      continue;
    }
    wait_if_synchronous(r);
    check(cudaEventRecord(begin.get(), stream()), "cudaEventRecord");
    for (int i = 0; i < kTimedRuns; ++i) check_blas(start(plan, r, algorithm, to), "cublasLtMatmul");
    check(cudaEventRecord(end.get(), stream()), "cudaEventRecord");
    check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float milliseconds;
    check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    seconds.push_back(milliseconds / 1e3 / kTimedRuns);
    if (!best || seconds.back() < *std::min_element(seconds.begin(), seconds.end() - 1)) best = Choice{algorithm};
  }
  if (!best) return std::nullopt;
  std::sort(seconds.begin(), seconds.end());
  best->seconds = std::move(seconds);
  return best;
}

// What this process knows about the products of a device, and the file.
struct Plans {
  explicit Plans(int device) : Plans(fmt::format("{}, cuBLASLt {}", device_info(device).name, cublasLtGetVersion())) {}

  using Key = std::pair<Request::Kind, Request::Sizes>;
  std::string machine;
  std::mutex mutex;
  std::map<Request::Kind, Choice> choices;
  std::map<Key, Plan> known;
  PlanFile file;

 private:
  explicit Plans(const std::string& machine_) : machine(machine_), file(plan_path(machine_), machine_) {}
};
constexpr size_t kMostKnown = 4096;  // descriptors of sizes that are kept; making them again costs microseconds

Plans& plans() { return of_current_device<Plans>(); }

// How the latest product of this thread was computed.
struct Latest {
  enum { none, library, own } by = none;
  Request::Kind kind{};
  cublasLtMatmulAlgo_t algorithm{};
  cublasLtEpilogue_t epilogue{};
  const char* part = nullptr;  // that a kernel of ours computed
};
thread_local Latest latest;

// Whether cuBLASLt accepts the algorithm for the sizes of this product.
bool accepts(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm) {
  cublasLtMatmulHeuristicResult_t result;
  const cublasStatus_t status = cublasLtMatmulAlgoCheck(library().handle, plan.operation.get(), plan.b.get(),
                                                        plan.a.get(), plan.c.get(), plan.c.get(), &algorithm, &result);
  return status == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspace;
}

// The algorithm of the request's kind that this or an earlier process selected; nullptr if there is none yet.
const Choice* known_choice(Plans& all, const Request::Kind& kind) {
  const auto known = all.choices.find(kind);
  if (known != all.choices.end()) return &known->second;
  const PlanFile::Algorithm* words = all.file.find({kind.begin(), kind.end()});
  if (!words) return nullptr;
  return &all.choices.emplace(kind, Choice{std::bit_cast<cublasLtMatmulAlgo_t>(*words)}).first->second;
}

// Selects the algorithm of the request's kind; nullptr if cuBLASLt refuses all. If another process has selected one in
// the meantime, that one counts.
const Choice* select(Plans& all, const Request::Kind& kind, const Plan& plan, const Request& r,
                     const std::vector<cublasLtMatmulAlgo_t>& suggested) {
  std::optional<Choice> best = fastest(plan, r, suggested);
  if (!best) return nullptr;
  const auto words = std::bit_cast<PlanFile::Algorithm>(best->algorithm);
  const PlanFile::Algorithm counts = all.file.add({kind.begin(), kind.end()}, words);
  if (counts != words) best = Choice{std::bit_cast<cublasLtMatmulAlgo_t>(counts)};
  return &all.choices.emplace(kind, std::move(*best)).first->second;
}

// Sets the plan's algorithm, if cuBLASLt has one, and returns whether the plan may be kept. The first product of a kind
// selects the algorithm of all. Whether other sizes use it or the first suggestion depends on cuBLASLt alone, so that a
// run that is resumed repeats its bits. While a graph is captured nothing can be timed: a product of a new kind uses
// the first suggestion, this once.
bool decide(Plans& all, const Request::Kind& kind, Plan& plan, const Request& r) {
  const Choice* choice = known_choice(all, kind);
  const bool selects = !choice && !capturing();
  std::vector<cublasLtMatmulAlgo_t> suggested;
  if (!choice) suggested = suggestions(plan, r);
  if (selects) choice = select(all, kind, plan, r, suggested);
  if (choice && accepts(plan, choice->algorithm)) {
    plan.algorithm = choice->algorithm;
    return true;
  }
  if (suggested.empty() && choice) suggested = suggestions(plan, r);
  if (!suggested.empty()) plan.algorithm = suggested.front();
  return choice || selects;
}

// Runs the product by the plan's algorithm. False if there is none or cuBLASLt refuses it.
bool multiply(Plan& plan, const Request& r) {
  if (!plan.algorithm) return false;
  const cublasStatus_t status = start(plan, r, *plan.algorithm, r.c_data);
  if (refused(status)) {
    plan.algorithm.reset();
    return false;
  }
  check_blas(status, "cublasLtMatmul");
  wait_if_synchronous(r);
  return true;
}

}  // namespace

bool run(const Request& r) {
  Plans& all = plans();
  const std::lock_guard lock(all.mutex);
  const Plans::Key key{r.kind(), r.sizes()};
  const auto known = all.known.find(key);
  std::optional<Plan> fresh;
  bool lasting = false;
  if (known != all.known.end()) {
    point(known->second, r);
  } else {
    fresh = describe(r);
    lasting = decide(all, key.first, *fresh, r);
  }
  Plan& plan = fresh ? *fresh : known->second;
  const bool done = multiply(plan, r);
  if (done) latest = {Latest::library, key.first, *plan.algorithm, r.epilogue};
  if (lasting) {
    if (all.known.size() >= kMostKnown) all.known.clear();
    all.known.emplace(key, std::move(*fresh));
  }
  return done;
}

void use_plan_file(const std::string& path) {
  Plans& all = plans();
  const std::lock_guard lock(all.mutex);
  all.choices.clear();
  all.known.clear();
  all.file = PlanFile(path, all.machine);
}

void note_own_matmul() { latest = {Latest::own}; }
void note_own_part(const char* part) { latest.part = part; }

std::string last_matmul() {
  if (latest.by == Latest::none) return "";
  const std::string apart = latest.part ? fmt::format("; {} by a separate kernel", latest.part) : "";
  if (latest.by == Latest::own) return "the engine's own kernel" + apart;
  std::string text = "cuBLASLt " + text_of(latest.algorithm);
  if (latest.epilogue != CUBLASLT_EPILOGUE_DEFAULT) text += fmt::format(", with {}", text_of(latest.epilogue));
  text += apart;
  Plans& all = plans();
  const std::lock_guard lock(all.mutex);
  const auto choice = all.choices.find(latest.kind);
  if (choice == all.choices.end() || !std::ranges::equal(choice->second.algorithm.data, latest.algorithm.data)) {
    return text + "; the first suggestion";
  }
  if (choice->second.seconds.empty()) return text + "; from the file of plans";
  text += "; timed (µs)";
  for (const double seconds : choice->second.seconds) text += fmt::format(" {:.1f}", seconds * 1e6);
  return text;
}

}  // namespace pg::cuda

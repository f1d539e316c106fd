// The simulated cuBLASLt: the library's constraints, checks of memory, the order of products and other work, counts.
#include <functional>
#include <string>

#include "tensor/sim/libraries/blas.h"
#include "tests/sim/cublaslt_case.h"
#include "tests/sim/must_find.h"

using namespace pg;
using namespace pg::testing;

TEST_CASE("sim: cuBLASLt suggests what the preferences allow", "[sim][blas]") {
  const BlasCase p{16, 8, 32};
  const auto count = [&](const std::function<void(BlasLibrary&)>& change) {
    BlasLibrary l(p);
    change(l);
    const size_t found = l.suggestions().size();
    if (found == 0) CHECK(l.status == CUBLAS_STATUS_NOT_SUPPORTED);
    return found;
  };
  CHECK(count([](BlasLibrary&) {}) == 4);
  CHECK(count([](BlasLibrary& l) { l.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{0}); }) == 2);
  CHECK(count([](BlasLibrary& l) { l.prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{2 * 16 * 8 * 4}); }) ==
        4);
  CHECK(count([](BlasLibrary& l) { l.prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{0}); }) == 2);
  CHECK(count([](BlasLibrary& l) { l.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t{8}); }) == 2);
  CHECK(count([](BlasLibrary& l) { l.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t{16}); }) == 4);
  BlasLibrary one({16, 8, 1, false, true});
  CHECK(one.suggestions().size() == 2);  // a K of 1 cannot be split
}

TEST_CASE("sim: cuBLASLt refuses what the library refuses", "[sim][blas]") {
  const auto status = [](
                          const BlasCase& p, const std::function<void(BlasLibrary&)>& change = [](BlasLibrary&) {},
                          cudaDataType type = CUDA_R_32F, cudaDataType result = CUDA_R_32F) {
    BlasLibrary l(p, type, result);
    change(l);
    return l.refusal();
  };
  const BlasCase p{16, 8, 32};
  CHECK(status(p) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(
            p, [](BlasLibrary&) {}, CUDA_R_16BF, CUDA_R_16BF) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(
            p, [](BlasLibrary&) {}, CUDA_R_16BF, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(
            p, [](BlasLibrary&) {}, CUDA_R_64F, CUDA_R_64F) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(
            p, [](BlasLibrary&) {}, CUDA_R_32F, CUDA_R_16BF) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(
            p, [](BlasLibrary&) {}, CUDA_R_64F, CUDA_R_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status({16, 8, 32, false, false, -1}) == CUBLAS_STATUS_INVALID_VALUE);  // ld below the rows
  CHECK(status({16, 8, 0}) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(p, [](BlasLibrary& l) { std::swap(l.a, l.d); }) == CUBLAS_STATUS_INVALID_VALUE);

  const DeviceArray<float> memory(200);
  const auto at = [&](size_t bytes) { return static_cast<void*>(reinterpret_cast<char*>(memory.data()) + bytes); };
  BlasCase biased = p;
  biased.epilogue = CUBLASLT_EPILOGUE_BIAS;
  const auto bias = [&](size_t bytes, int32_t type = CUDA_R_32F) {
    return [&, bytes, type](BlasLibrary& l) {
      l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, at(bytes));
      l.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    };
  };
  CHECK(status(biased) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(biased, bias(0)) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(biased, bias(4)) == CUBLAS_STATUS_SUCCESS);  // by the algorithms that need no alignment
  CHECK(status(biased, bias(0, CUDA_R_16BF)) == CUBLAS_STATUS_NOT_SUPPORTED);
  biased.epilogue = CUBLASLT_EPILOGUE_BGRADB;
  CHECK(status(biased, bias(0)) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(biased, bias(8)) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(status(biased, bias(0), CUDA_R_64F, CUDA_R_64F) == CUBLAS_STATUS_NOT_SUPPORTED);

  BlasCase stored = p;
  stored.epilogue = CUBLASLT_EPILOGUE_GELU_AUX;
  const auto aux = [&](size_t bytes) {
    return [&, bytes](BlasLibrary& l) { l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at(bytes)); };
  };
  for (const int64_t ld : {0, 8, 20}) {
    stored.aux_ld = ld;
    CHECK(status(stored, aux(0)) == CUBLAS_STATUS_INVALID_VALUE);
  }
  stored.aux_ld = 24;
  CHECK(status(stored) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status(stored, aux(0)) == CUBLAS_STATUS_SUCCESS);
  CHECK(status(stored, aux(8)) == CUBLAS_STATUS_NOT_SUPPORTED);
  stored.epilogue = 2;  // RELU, which this library does not have
  CHECK(status(stored, aux(0)) == CUBLAS_STATUS_NOT_SUPPORTED);

  BlasLibrary l(p);
  CHECK(l.set(CUBLASLT_MATMUL_DESC_TRANSA, int64_t{0}) == CUBLAS_STATUS_INVALID_VALUE);  // must be of 4 bytes
  const BlasArrays x(p);
  const auto split = l.suggestions().at(0), whole = l.suggestions().at(1);
  CHECK(multiply(p, l, x, split, 2 * 16 * 8 * 4 - 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(multiply(p, l, x, split, 2 * 16 * 8 * 4) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(p, l, x, whole, 0) == CUBLAS_STATUS_SUCCESS);
  CHECK(multiply(p, l, x, cublasLtMatmulAlgo_t{{1, 2, 3}}) == CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulHeuristicResult_t result;
  CHECK(cublasLtMatmulAlgoCheck(l.handle, l.operation, l.a, l.b, l.d, l.d, &split, &result) == CUBLAS_STATUS_SUCCESS);
  CHECK(result.workspaceSize == 2 * 16 * 8 * 4);
  BlasLibrary odd({16, 8, 32, false, false, 1});
  CHECK(cublasLtMatmulAlgoCheck(odd.handle, odd.operation, odd.a, odd.b, odd.d, odd.d, &split, &result) ==
        CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE("sim: cuBLASLt's memory is checked", "[sim][blas]") {
  const BlasCase p{16, 8, 32};
  BlasLibrary l(p);
  const auto algorithm = l.suggestions().at(1);
  const auto message = [&](const BlasCase& smaller, size_t offset = 0) {
    const BlasArrays x(smaller);
    return message_of([&] {
      const float one = 1, none = 0;
      cublasLtMatmul(l.handle, l.operation, &one, x.a.data() + offset, l.a, x.b.data(), l.b, &none, x.d.data(), l.d,
                     x.d.data(), l.d, &algorithm, nullptr, 0, nullptr);
    });
  };
  CHECK(message(p) == "(no error)");
  CHECK(contains(message({15, 8, 32}), "cublasLtMatmul, A: 2048 bytes at byte 0 do not fit"));
  CHECK(contains(message({16, 7, 32}), "cublasLtMatmul, B: 1024 bytes at byte 0 do not fit"));
  CHECK(contains(message({32, 8, 32}, 1), "an address that 16 does not divide"));
  // Memory of another device.
  cuda::check(cudaSetDevice(1), "cudaSetDevice");
  const BlasArrays there(p);
  BlasLibrary other(p);
  cuda::check(cudaSetDevice(0), "cudaSetDevice");
  CHECK(contains(message_of([&] { multiply(p, l, there, algorithm); }), "the memory is on device 1"));
  CHECK(multiply(p, other, there, algorithm) == CUBLAS_STATUS_NOT_INITIALIZED);  // the handle is of device 1
}

TEST_CASE("sim: cuBLASLt's products are ordered with other work of streams and graphs", "[sim][blas]") {
  const BlasCase p{16, 8, 32};
  BlasLibrary l(p);
  const BlasArrays x(p);
  cudaStream_t streams[2];
  for (auto& s : streams) cuda::check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "cudaStreamCreate");
  const auto split = l.suggestions().at(0), whole = l.suggestions().at(1);
  cuda::check(cudaMemsetAsync(x.d.data(), 0, 4, streams[0]), "cudaMemsetAsync");
  CHECK(contains(message_of([&] { multiply(p, l, x, whole, 0, streams[1]); }), "cublasLtMatmul on stream"));
  cudaDeviceSynchronize();
  // Two products that share a workspace must be ordered, too.
  const BlasArrays y(p);
  REQUIRE(multiply(p, l, x, split, kWorkspace, streams[0]) == CUBLAS_STATUS_SUCCESS);
  CHECK(contains(message_of([&] {
                   cublasLtMatmul(l.handle, l.operation, &p.alpha, y.a.data(), l.a, y.b.data(), l.b, &p.beta,
                                  y.d.data(), l.d, y.d.data(), l.d, &split, x.workspace.data(), kWorkspace, streams[1]);
                 }),
                 "the two are not ordered"));
  cudaDeviceSynchronize();

  const std::vector<float> expected = x.d.host();
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cuda::check(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  cuda::check(cudaMemsetAsync(x.d.data(), 0, expected.size() * 4, streams[0]), "cudaMemsetAsync");
  REQUIRE(multiply(p, l, x, split, kWorkspace, streams[0]) == CUBLAS_STATUS_SUCCESS);
  cuda::check(cudaStreamEndCapture(streams[0], &graph), "cudaStreamEndCapture");
  cuda::check(cudaMemset(x.d.data(), 0, expected.size() * 4), "cudaMemset");
  cudaDeviceSynchronize();
  cuda::check(cudaGraphInstantiate(&exec, graph), "cudaGraphInstantiate");
  cuda::check(cudaGraphLaunch(exec, streams[0]), "cudaGraphLaunch");
  cudaDeviceSynchronize();
  CHECK(x.d.host() == expected);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  for (auto s : streams) cudaStreamDestroy(s);
}

TEST_CASE("sim: cuBLASLt's calls are counted and tests can refuse them", "[sim][blas]") {
  const BlasCase p{16, 8, 32};
  BlasLibrary l(p);
  const BlasArrays x(p);
  const auto before = sim::blas_counts();
  const auto algorithm = l.suggestions().at(1);
  {
    const sim::Report report;
    multiply(p, l, x, algorithm);
    CHECK(report.kernels().at("cublasLtMatmul").launches == 1);
  }
  const auto after = sim::blas_counts();
  CHECK(after.heuristics == before.heuristics + 1);
  CHECK(after.products == before.products + 1);
  const auto of = [](const auto& map, auto key) { return map.count(key) ? map.at(key) : 0; };
  CHECK(of(after.by_epilogue, 1u) == of(before.by_epilogue, 1u) + 1);
  CHECK(of(after.by_algorithm, 1) == of(before.by_algorithm, 1) + 1);
  {
    const sim::BlasRefusal refusal([](const sim::BlasProduct& q, sim::BlasRefusal::Call call) {
      return q.m == 16 && q.n == 8 && q.k == 32 && call != sim::BlasRefusal::Call::check;
    });
    CHECK(l.refusal() == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(multiply(p, l, x, algorithm) == CUBLAS_STATUS_NOT_SUPPORTED);
    cublasLtMatmulHeuristicResult_t result;
    CHECK(cublasLtMatmulAlgoCheck(l.handle, l.operation, l.a, l.b, l.d, l.d, &algorithm, &result) ==
          CUBLAS_STATUS_SUCCESS);
    const sim::BlasRefusal invalid([](const auto&, auto) { return true; }, true);
    CHECK(l.refusal() == CUBLAS_STATUS_INVALID_VALUE);
  }
  CHECK(l.refusal() == CUBLAS_STATUS_SUCCESS);
}

// The simulated cuBLASLt: products and epilogues against their definitions.
#include <cmath>
#include <vector>

#include "tensor/sim/libraries/blas.h"
#include "tests/sim/cublaslt_case.h"

using namespace pg;
using namespace pg::testing;

namespace {

double exact(const BlasCase& p, const BlasArrays& x, int64_t l, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t d = 0; d < p.k; ++d) sum += static_cast<double>(x.host_a[p.a_at(l, i, d)]) * x.host_b[p.b_at(l, d, j)];
  sum *= p.alpha;
  if (p.beta != 0) sum += p.beta * x.host_d[p.d_at(l, i, j)];
  return sum;
}

double gelu(double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3)))); }

}  // namespace

TEST_CASE("sim: cuBLASLt's products of all transposes are those of the definition", "[sim][blas]") {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const int64_t extra : {0, 4, 3}) {
        for (const float beta : {0.0f, -0.5f}) {
          const BlasCase p{8, 12, 20, transpose_a, transpose_b, extra, 2, CUBLASLT_EPILOGUE_DEFAULT, 2, beta};
          BlasLibrary l(p);
          const auto algorithms = l.suggestions();
          REQUIRE(algorithms.size() == (extra == 3 ? 2 : 4));
          for (const auto& algorithm : algorithms) {
            const BlasArrays x(p);
            REQUIRE(multiply(p, l, x, algorithm) == CUBLAS_STATUS_SUCCESS);
            const std::vector<float> got = x.d.host();
            double worst = 0;
            for (int64_t b = 0; b < p.batch; ++b) {
              for (int64_t i = 0; i < p.m; ++i) {
                for (int64_t j = 0; j < p.n; ++j) {
                  worst = std::max(worst, std::fabs(got[p.d_at(b, i, j)] - exact(p, x, b, i, j)));
                }
                // What is between the columns stays.
                for (int64_t e = p.m; e < p.m + extra; ++e) CHECK(got[p.d_at(b, e, 0)] == x.host_d[p.d_at(b, e, 0)]);
              }
            }
            CHECK(worst == 0);  // eighths of small whole numbers: f32 is exact
          }
        }
      }
    }
  }
}

TEST_CASE("sim: cuBLASLt's epilogues are those of the definition", "[sim][blas]") {
  const BlasCase plain{8, 6, 10};
  const std::vector<float> bias = numbers(8, 4);
  const double h = 1e-4;
  for (const uint32_t epilogue : {4u, 32u, 36u, 160u, 164u, 192u, 512u}) {
    BlasCase p = plain;
    p.epilogue = epilogue;
    p.aux_ld = 16;
    BlasLibrary l(p);
    const BlasArrays x(p);
    const std::vector<float> before = numbers(16 * 6, 5);
    const DeviceArray<float> aux(before), vector(bias);
    l.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(vector.data()));
    l.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(aux.data()));
    REQUIRE(multiply(p, l, x, l.suggestions().at(0)) == CUBLAS_STATUS_SUCCESS);
    const std::vector<float> got = x.d.host(), kept = aux.host(), sums = vector.host();
    INFO("epilogue " << epilogue);
    for (int64_t j = 0; j < p.n; ++j) {
      for (int64_t i = 0; i < p.m; ++i) {
        const size_t at = static_cast<size_t>(i + j * p.aux_ld);
        double y = exact(p, x, 0, i, j);
        if (epilogue & 4) y += bias[static_cast<size_t>(i)];
        const bool stores = epilogue == 160 || epilogue == 164;
        CHECK(kept[at] == (stores ? static_cast<float>(y) : before[at]));
        if (epilogue & 32) y = gelu(y);
        if (epilogue == 192) y *= (gelu(before[at] + h) - gelu(before[at] - h)) / (2 * h);
        CHECK(std::fabs(got[p.d_at(0, i, j)] - y) <= 1e-6 * (1 + std::fabs(y)));
      }
      if (epilogue != 512) continue;
      double sum = 0;
      for (int64_t d = 0; d < p.k; ++d) sum += x.host_b[p.b_at(0, d, j)];
      CHECK(sums[static_cast<size_t>(j)] == sum);
    }
    if (epilogue != 512) CHECK(sums == bias);
  }
}

TEST_CASE("sim: cuBLASLt's algorithms add in different orders and events count their times", "[sim][blas]") {
  const BlasCase p{16, 16, 100};
  BlasLibrary l(p);
  BlasArrays x(p);
  std::vector<float> thirds(p.size_a());
  for (size_t i = 0; i < thirds.size(); ++i) thirds[i] = 1.0f / static_cast<float>(i % 97 + 3);
  cuda::check(cudaMemcpy(x.a.data(), thirds.data(), thirds.size() * 4, cudaMemcpyHostToDevice), "cudaMemcpy");
  const sim::BlasTimes times({40, 30, 20, 10});
  std::vector<std::vector<float>> results;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  for (const auto& algorithm : l.suggestions()) {
    cudaEventRecord(begin);
    REQUIRE(multiply(p, l, x, algorithm) == CUBLAS_STATUS_SUCCESS);
    cudaEventRecord(end);
    float time = 0;
    cudaEventElapsedTime(&time, begin, end);
    CHECK(std::fabs(time / 1e3 - (40 - 10 * static_cast<double>(results.size()))) < 5);
    results.push_back(x.d.host());
    const auto again = x.d.host();
    REQUIRE(multiply(p, l, x, algorithm) == CUBLAS_STATUS_SUCCESS);
    CHECK(x.d.host() == again);
    for (const auto& other : results) CHECK((&other == &results.back() || other != results.back()));
  }
  CHECK(results.size() == sim::kBlasAlgorithms);
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

#pragma once
// Products that must be computed by the simulated cuBLASLt, and a file of plans that begins empty.
#include "tensor/cuda/gemm/plan_file.h"
#include "tensor/sim/libraries/blas.h"
#include "tests/cuda/product_case.h"

namespace pg::testing {

// While an object of this class exists, the device has no plans but those of its file.
class FreshPlans {
 public:
  FreshPlans() {
    kernels(device());  // makes it the current device
    cuda::use_plan_file(path());
  }
  ~FreshPlans() { cuda::use_plan_file(""); }
  FreshPlans(const FreshPlans&) = delete;

  std::string path() const { return folder_.file("plans.txt"); }
  // As another process that begins.
  void restart() const { cuda::use_plan_file(path()); }

 private:
  TempDir folder_;
};

// The calls of the library while f runs.
inline sim::BlasCounts calls_of(const std::function<void()>& f) {
  const sim::BlasCounts before = sim::blas_counts();
  f();
  sim::BlasCounts calls = sim::blas_counts();
  calls.heuristics -= before.heuristics;
  calls.checks -= before.checks;
  calls.products -= before.products;
  for (const auto& [key, count] : before.by_epilogue) calls.by_epilogue[key] -= count;
  for (const auto& [key, count] : before.by_algorithm) calls.by_algorithm[key] -= count;
  return calls;
}

inline std::string how() { return backend(device()).last_matmul(); }
inline bool by_library() { return how().starts_with("cuBLASLt "); }
inline bool by_own_kernel() { return how().starts_with("the engine's own kernel"); }

inline Tensor on_device(const Shape& shape, DType dtype, uint64_t seed) {
  return random(shape, dtype, seed).to(device());
}
// A product [m, k]·[k, n] without anything else.
inline Product plain(int64_t m, int64_t n, int64_t k, DType dtype = f32) {
  return {nan_matrix(m, n, dtype), on_device({m, k}, dtype, 1), on_device({k, n}, dtype, 2)};
}

}  // namespace pg::testing

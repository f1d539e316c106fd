#pragma once
// Shared by tests of single CUDA kernels: inputs on the device, and the same, already rounded values on the plain
// backend in f64.
#include <algorithm>
#include <vector>

#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tests/op_runs.h"

namespace pg::testing {

inline Device device() {
  if (backend(Device::Kind::cuda).device_count() == 0) SKIP_TEST("cuda: " + backend(Device::Kind::cuda).why_none());
  return {Device::Kind::cuda, 0};
}

// Skips a test that needs recorded graphs.
inline void need_graphs() {
  if (!backend(device()).records()) SKIP_TEST("POLICYGRAD_CUDA_SYNC=1 records no graphs");
}

inline constexpr Device kPlain{Device::Kind::plain};

inline double tolerance(DType dtype) { return dtype == f64 ? 1e-12 : dtype == f32 ? 1e-5 : 1e-2; }

inline Tensor random(const Shape& shape, DType dtype, uint64_t seed) {
  Generator g(seed);
  return Tensor::normal(shape, 0, 1, g, f64).to(dtype);
}
// x copied to the plain backend and converted to f64.
inline Tensor wide(const Tensor& x) { return x.defined() ? x.to(kPlain).to(f64) : x; }
inline bool all_equal(const Tensor& x, double value) {
  const std::vector<double> v = x.to_vector();
  return std::all_of(v.begin(), v.end(), [=](double y) { return y == value; });
}

}  // namespace pg::testing

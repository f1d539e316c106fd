#pragma once
// What tests of kernels share: the device, and random tensors.
#include <algorithm>
#include <vector>

#include "tensor/backend.h"
#include "tensor/kernels.h"
#include "tests/op_runs.h"

namespace pg::testing {

inline constexpr Device kPlain{Device::Kind::plain};

// The device of this test program, on which the tests of tests/kernels run: a CUDA device in cuda_tests, the CPU in
// others.
inline Device device() {
#ifdef POLICYGRAD_TESTS_OF_CUDA
  if (backend(Device::Kind::cuda).device_count() == 0) SKIP_TEST("cuda: " + backend(Device::Kind::cuda).why_none());
  return {Device::Kind::cuda, 0};
#else
  return {};
#endif
}

// The bound of relative_error for results of this dtype.
inline double tolerance(DType dtype) { return dtype == f64 ? 1e-12 : dtype == f32 ? 1e-5 : 1e-2; }

inline Tensor uniform(const Shape& shape, uint64_t seed, double low = -2, double high = 2) {
  Generator g(seed);
  return Tensor::uniform(shape, low, high, g, f32);
}
// x copied to the plain backend and converted to f64.
inline Tensor wide(const Tensor& x) { return x.defined() ? x.to(kPlain).to(f64) : x; }
inline bool all_equal(const Tensor& x, double value) {
  const std::vector<double> v = x.to_vector();
  return std::all_of(v.begin(), v.end(), [=](double y) { return y == value; });
}

}  // namespace pg::testing

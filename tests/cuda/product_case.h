#pragma once
// A matrix product on a CUDA device, compared with the plain kernels in f64 on the same, already rounded values.
#include <cmath>

#include "tests/cuda/on_device.h"

namespace pg::testing {

struct Product {
  Tensor c, a, b, bias = {}, pre = {};
  float beta = 0;
  Activation activation = Activation::none;
  Tensor sums = {};
  float sums_beta = 0;

  void run(const Kernels& k) const { k.matmul(c, a, b, {beta, bias, activation, pre, sums, sums_beta}); }
};

// Runs the product on the device and compares c, pre and the row sums of a.
inline void check_product(const Product& p) {
  Product expected{wide(p.c), wide(p.a),    wide(p.b),    wide(p.bias), wide(p.pre),
                   p.beta,    p.activation, wide(p.sums), p.sums_beta};
  expected.run(plain_kernels());
  p.run(kernels(device()));
  const double allowed = tolerance(p.c.dtype() == bf16 ? bf16 : p.a.dtype() == f64 ? f64 : f32);
  CHECK(relative_error(p.c, expected.c) <= allowed);
  if (p.pre.defined()) CHECK(relative_error(p.pre, expected.pre) <= allowed);
  if (p.sums.defined()) CHECK(relative_error(p.sums, expected.sums) <= tolerance(p.sums.dtype()));
}

inline Tensor nan_matrix(int64_t m, int64_t n, DType dtype) { return Tensor::full({m, n}, NAN, dtype, device()); }

// x on the device, transposed in memory if requested.
inline Tensor placed(const Tensor& x, bool transposed) {
  if (!transposed) return x.to(device());
  return x.view_transpose(-1, -2).contiguous_copy().to(device()).view_transpose(-1, -2);
}

}  // namespace pg::testing

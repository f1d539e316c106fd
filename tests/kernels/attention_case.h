#pragma once
// Attention on device() compared with the plain kernels in f64, on the same, already rounded values.
#include <cmath>
#include <limits>
#include <optional>

#include "tests/kernels/device.h"

namespace pg::testing {

struct Case {
  int64_t batch, heads, kv_heads, queries, keys, size;
  bool causal = true;
  std::vector<uint8_t> mask = {};  // [batch, keys] or none
  std::vector<int32_t> len = {};   // [batch] or none

  std::string title() const {
    return "B " + std::to_string(batch) + ", H " + std::to_string(heads) + "/" + std::to_string(kv_heads) + ", T " +
           std::to_string(queries) + ", S " + std::to_string(keys) + ", D " + std::to_string(size) +
           (causal ? ", causal" : "") + (mask.empty() ? "" : ", masked") + (len.empty() ? "" : ", lengths");
  }
};

struct Attention {
  Case c;
  Tensor q, k, v, out, lse, dout = {}, dq = {}, dk = {}, dv = {};
  Tensor mask = {}, len = {};  // the mask and lengths of c, on the device of the last call

  AttentionArgs args(Device on) {
    mask = c.mask.empty() ? Tensor() : Tensor::from(c.mask, {c.batch, c.keys}).to(on);
    len = c.len.empty() ? Tensor() : Tensor::from(c.len, {c.batch}).to(on);
    return {0.3, c.causal, mask, len};
  }
  void forward(const Kernels& kernels) { kernels.attention(out, lse, q, k, v, args(q.device())); }
  void backward(const Kernels& kernels, double beta) {
    kernels.attention_backward(dq, dk, dv, dout, out, lse, q, k, v, args(q.device()), beta);
  }
};

// Inputs on the device with the memory layout [B, T, H, D]; results are filled with NaN.
inline Attention inputs(const Case& c, DType dtype) {
  const auto heads = [&](int64_t h, int64_t t, uint64_t seed) {
    return random({c.batch, t, h, c.size}, dtype, seed).to(device()).view_transpose(1, 2);
  };
  Attention x{c, heads(c.heads, c.queries, 1), heads(c.kv_heads, c.keys, 2), heads(c.kv_heads, c.keys, 3), {}, {}};
  x.out = Tensor::full({c.batch, c.queries, c.heads, c.size}, NAN, dtype, device()).view_transpose(1, 2);
  x.lse = Tensor::full({c.batch, c.heads, c.queries}, NAN, sum_type(dtype), device());
  return x;
}
// The same inputs in f64 on the plain backend; results are filled with NaN.
inline Attention reference_of(const Attention& x) {
  Attention y{x.c,
              wide(x.q),
              wide(x.k),
              wide(x.v),
              Tensor::full(x.q.shape(), NAN, f64, kPlain),
              Tensor::full(x.lse.shape(), NAN, f64, kPlain)};
  return y;
}

// relative_error in which equal infinities (the lse of rows without a key) count as equal.
inline double error_of(const Tensor& got, const Tensor& expected) {
  std::vector<double> x = got.to_vector(), y = expected.to_vector();
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isinf(y[i]) && x[i] == y[i]) x[i] = y[i] = 0;
  }
  return relative_error(Tensor::from(x, expected.shape()), Tensor::from(y, expected.shape()));
}

inline void check_forward(const Case& c, DType dtype) {
  INFO(c.title() << ", " << name_of(dtype));
  Attention x = inputs(c, dtype), y = reference_of(x);
  x.forward(kernels(device()));
  y.forward(plain_kernels());
  CHECK(error_of(x.out, y.out) <= tolerance(dtype));
  CHECK(error_of(x.lse, y.lse) <= tolerance(x.lse.dtype()));
}

// Gradients with dtype `into`, computed from the device's own forward pass.
inline void check_backward(const Case& c, DType dtype, double beta, std::optional<DType> into = {}) {
  INFO(c.title() << ", " << name_of(dtype) << ", beta " << beta);
  Attention x = inputs(c, dtype), y = reference_of(x);
  x.forward(kernels(device()));
  x.dout = random(x.q.shape(), dtype, 4).to(device());
  uint64_t seed = 5;
  for (Tensor* grad : {&x.dq, &x.dk, &x.dv}) {
    const Shape shape = grad == &x.dq ? x.q.shape() : x.k.shape();
    *grad = Tensor::full({shape[0], shape[2], shape[1], c.size + 3}, NAN, into.value_or(dtype), device());
    *grad = grad->view_slice(3, 1, c.size + 1).view_transpose(1, 2);  // D contiguous, other strides are odd
    grad->copy_from(random(shape, into.value_or(dtype), seed++));
  }
  y.out = wide(x.out), y.lse = wide(x.lse), y.dout = wide(x.dout);
  y.dq = wide(x.dq), y.dk = wide(x.dk), y.dv = wide(x.dv);
  if (beta == 0) {
    for (const Tensor& grad : {x.dq, x.dk, x.dv}) grad.fill(NAN);
  }
  x.backward(kernels(device()), beta);
  y.backward(plain_kernels(), beta);
  const double allowed = tolerance(into.value_or(dtype));
  CHECK(error_of(x.dq, y.dq) <= allowed);
  CHECK(error_of(x.dk, y.dk) <= allowed);
  CHECK(error_of(x.dv, y.dv) <= allowed);
}

inline std::vector<uint8_t> every_third_masked(int64_t n) {
  std::vector<uint8_t> mask(static_cast<size_t>(n), 1);
  for (size_t i = 0; i < mask.size(); i += 3) mask[i] = 0;
  return mask;
}

}  // namespace pg::testing

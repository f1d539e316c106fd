#pragma once
// Calls a row kernel twice, on CUDA and on the plain backend in f64, and compares the results.
#include <cmath>

#include "tests/cuda/on_device.h"

namespace pg::testing {

inline constexpr double kEps = 1e-5;

inline Tensor uniform(const Shape& shape, uint64_t seed, double low = -2, double high = 2) {
  Generator g(seed);
  return Tensor::uniform(shape, low, high, g, f32);
}
inline Tensor integers(int64_t rows, uint64_t seed, int64_t n) {
  Generator g(seed);
  std::vector<int32_t> ids;
  for (int64_t r = 0; r < rows; ++r) ids.push_back(static_cast<int32_t>(g.integer(n)));
  return Tensor::from(ids, {rows});
}

// Where a call runs: on CUDA in some dtype, or on the plain backend in f64 with inputs rounded to that dtype.
struct Side {
  Device device;
  DType dtype, rounds_to;
  int64_t spare = 0;  // elements between rows

  const Kernels& k() const { return kernels(device); }
  Tensor in(const Tensor& x) const {
    if (!x.defined() || !is_floating(x.dtype())) return x.defined() ? x.to(device) : x;
    const Tensor y = x.to(rounds_to).to(dtype);
    if (x.rank() != 2 || spare == 0) return y.to(device);
    const Tensor apart = out(x.shape());
    apart.copy_from(y.to(device));
    return apart;
  }
  // Memory for a result, filled with NaN.
  Tensor out(const Shape& shape) const {
    if (shape.rank() != 2) return Tensor::full(shape, NAN, dtype, device);
    return Tensor::full({shape[0], shape[1] + spare}, NAN, dtype, device).view_slice(1, spare, spare + shape[1]);
  }
  Tensor per_row_stats(int64_t rows) const { return Tensor::full({rows, 2}, NAN, sum_type(dtype), device); }
  Tensor per_row(int64_t rows) const { return Tensor::full({rows}, NAN, sum_type(dtype), device); }
  Tensor per_row(const Tensor& x) const { return x.defined() ? x.to(sum_type(dtype)).to(device) : x; }
  // Memory for a gradient: filled with NaN if beta is 0, otherwise with values that the kernel adds to.
  Tensor gradient(const Shape& shape, double beta) const { return beta == 0 ? out(shape) : in(uniform(shape, 99)); }
};

inline Side on_cuda(DType dtype, int64_t spare = 0) { return {device(), dtype, dtype, spare}; }

// call(side) returns the results of a side; the results of both sides are compared.
template <class F>
void check_against_plain(const Side& cuda, F call) {
  const std::vector<Tensor> got = call(cuda), want = call(Side{kPlain, f64, cuda.rounds_to});
  REQUIRE(got.size() == want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    INFO(name_of(cuda.dtype) << ", result " << i << " of shape " << fmt::format("{}", want[i].shape()));
    CHECK(relative_error(got[i], want[i]) <= tolerance(got[i].dtype()));
  }
}

struct NormOptions {
  bool residual = false, weight = true, bias = true;
  double beta = 0;
};
// x + residual as it is stored, rounded: what a norm with a residual normalises. The sums of bf16 values are exact in
// f64.
inline Tensor stored_sum(const Side& s, const Tensor& x, const Tensor& residual) {
  std::vector<double> values = x.to_vector();
  const std::vector<double> added = residual.to_vector();
  for (size_t i = 0; i < values.size(); ++i) values[i] += added[i];
  return s.in(Tensor::from(values, x.shape()));
}
inline std::vector<Tensor> layer_norms(const Side& s, const Tensor& rows, const NormOptions& o) {
  const Shape shape = rows.shape(), columns{rows.size(1)};
  const Tensor x = s.in(rows), residual = o.residual ? s.in(uniform(shape, 2)) : Tensor{};
  const Tensor w = o.weight ? s.in(uniform(columns, 3)) : Tensor{}, b = o.bias ? s.in(uniform(columns, 4)) : Tensor{};
  const Tensor y = s.out(shape), sum = o.residual ? s.out(shape) : Tensor{};
  const Tensor mean = s.per_row(shape[0]), rstd = s.per_row(shape[0]);
  if (o.residual && s.rounds_to != s.dtype) {
    sum.copy_from(stored_sum(s, x, residual));
    s.k().layer_norm(y, mean, rstd, {}, sum, {}, w, b, kEps);
  } else {
    s.k().layer_norm(y, mean, rstd, sum, x, residual, w, b, kEps);
  }
  const auto column_gradient = [&] {
    return s.per_row(o.beta == 0 ? Tensor::full(columns, NAN) : uniform(columns, 7));
  };
  const Tensor dx = s.gradient(shape, o.beta), dw = column_gradient(), db = column_gradient();
  s.k().layer_norm_backward(dx, dw, o.bias ? db.view() : View{}, s.in(uniform(shape, 5)), o.residual ? s.in(sum) : x, w,
                            mean, rstd, o.beta, o.beta, o.beta);
  std::vector<Tensor> results{y, rstd, dx, dw};
  if (o.bias) results.push_back(db);
  if (o.residual) results.push_back(sum);
  return results;
}

}  // namespace pg::testing

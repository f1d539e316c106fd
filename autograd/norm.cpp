// Normalisation of rows, optionally fused with the residual sum.
#include "autograd/op_util.h"

namespace pg {
namespace {

using namespace detail;

void check_affine(const Tensor& x, const Tensor& w, const char* op, const char* what) {
  if (!w.defined()) return;
  check_same_dtype(x, w, op);
  check(w.shape() == Shape{x.size(-1)}, "{}: {} must be [{}], got {}", op, what, x.size(-1), w.shape());
}

void check_rows(const Tensor& x, double eps, const char* op) {
  check_floating(x, op);
  check(x.rank() >= 1, "{}: expected x [..., C], got a tensor of rank 0", op);
  check(eps >= 0, "{}: expected an eps of 0 or more, got {}", op, eps);
}

struct Saved {
  Tensor x, weight, mean, rstd;
};

Saved saved_rows(const Tensor& x, const Tensor& weight) {
  Saved s{rows(x), packed(weight), {}, {}};
  s.mean = Tensor::empty({s.x.size(0)}, sum_type(x.dtype()), x.device());
  s.rstd = empty_like(s.mean);
  return s;
}

// Memory for the gradient of input `i`, a vector over the columns; undefined if the input needs none. It is not the
// gradient's own buffer, because x, weight and bias may be the same tensor, and the kernel writes all gradients at
// once.
Tensor column_grad(const Grads& g, int i, const Tensor& x) {
  return g.wants(i) ? Tensor::empty({x.size(-1)}, sum_type(x.dtype()), x.device()) : Tensor{};
}
void pass_columns(Grads& g, int i, const Tensor& d) {
  if (d.defined()) g.pass(i, d);
}

// Writes dx (to the given view), dw (input iw) and db (iw + 1).
void layer_norm_grads(const Saved& s, const Tensor& dy, View dx, double beta_x, Grads& g, int iw) {
  const Tensor dw = column_grad(g, iw, s.x), db = column_grad(g, iw + 1, s.x);
  kernels_of(dy).layer_norm_backward(dx, dw, db, rows(dy), s.x, s.weight, s.mean, s.rstd, beta_x, 0, 0);
  pass_columns(g, iw, dw);
  pass_columns(g, iw + 1, db);
}

// For an op with the outputs sum = x + residual and y = norm(sum): inputs 0 and 1 (x and residual) both receive the
// gradient of sum plus the gradient through y, which add(dy, d, beta) adds to d. Either gradient may be undefined.
template <class F>
void pass_to_both(Grads& g, const Shape& shape, F add) {
  const bool has_sum = g.output(0).defined();
  Tensor d;
  if (const Tensor& dy = g.output(1); dy.defined()) {
    d = has_sum ? g.writable_output(0) : Tensor::empty(shape, dy.dtype(), dy.device());
    add(dy, d, has_sum ? 1 : 0);
  } else {
    d = g.output(0);
  }
  g.pass(0, d);
  g.pass(1, d);
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_rows(x, eps, "layer_norm");
  check_affine(x, weight, "layer_norm", "weight");
  check_affine(x, bias, "layer_norm", "bias");
  const Saved s = saved_rows(x, weight);
  const Tensor y = empty_like(s.x);
  kernels_of(x).layer_norm(y, s.mean, s.rstd, {}, s.x, {}, s.weight, packed(bias), eps);
  return record(Op::layer_norm, y.view_reshape(x.shape()), {&x, &weight, &bias}, {&s.x, &s.weight},
                [s](const Tensor& dy, Grads& g) {
                  const auto dx = g[0];
                  layer_norm_grads(s, dy, dx ? dx.into->view_reshape(s.x.shape()).view() : View{}, dx.beta, g, 1);
                });
}

std::pair<Tensor, Tensor> add_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& weight,
                                         const Tensor& bias, double eps) {
  check_rows(x, eps, "add_layer_norm");
  check_same_dtype(x, residual, "add_layer_norm");
  check(x.shape() == residual.shape(), "add_layer_norm: x is {}, residual {}", x.shape(), residual.shape());
  check_affine(x, weight, "add_layer_norm", "weight");
  check_affine(x, bias, "add_layer_norm", "bias");
  Saved s = saved_rows(x, weight);
  const Tensor sum = empty_like(s.x), y = empty_like(s.x);
  kernels_of(x).layer_norm(y, s.mean, s.rstd, sum, s.x, rows(residual), s.weight, packed(bias), eps);
  s.x = sum;
  return record2(Op::add_layer_norm, sum.view_reshape(x.shape()), y.view_reshape(x.shape()),
                 {&x, &residual, &weight, &bias}, {&s.x, &s.weight}, [s, shape = x.shape()](const Tensor&, Grads& g) {
                   pass_to_both(g, shape, [&](const Tensor& dy, const Tensor& d, double beta) {
                     layer_norm_grads(s, dy, d.view_reshape(s.x.shape()), beta, g, 2);
                   });
                 });
}

namespace {

void rms_norm_grads(const Tensor& x, const Tensor& weight, const Tensor& rstd, const Tensor& dy, View dx, double beta_x,
                    Grads& g, int iw) {
  const Tensor dw = column_grad(g, iw, x);
  kernels_of(dy).rms_norm_backward(dx, dw, rows(dy), x, weight, rstd, beta_x, 0);
  pass_columns(g, iw, dw);
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_rows(x, eps, "rms_norm");
  check_affine(x, weight, "rms_norm", "weight");
  const Tensor x2 = rows(x), w = packed(weight);
  const Tensor y = empty_like(x2), rstd = Tensor::empty({x2.size(0)}, sum_type(x.dtype()), x.device());
  kernels_of(x).rms_norm(y, rstd, {}, x2, {}, w, eps);
  return record(
      Op::rms_norm, y.view_reshape(x.shape()), {&x, &weight}, {&x2, &w}, [x2, w, rstd](const Tensor& dy, Grads& g) {
        const auto dx = g[0];
        rms_norm_grads(x2, w, rstd, dy, dx ? dx.into->view_reshape(x2.shape()).view() : View{}, dx.beta, g, 1);
      });
}

std::pair<Tensor, Tensor> add_rms_norm(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps) {
  check_rows(x, eps, "add_rms_norm");
  check_same_dtype(x, residual, "add_rms_norm");
  check(x.shape() == residual.shape(), "add_rms_norm: x is {}, residual {}", x.shape(), residual.shape());
  check_affine(x, weight, "add_rms_norm", "weight");
  const Tensor x2 = rows(x), w = packed(weight);
  const Tensor sum = empty_like(x2), y = empty_like(x2);
  const Tensor rstd = Tensor::empty({x2.size(0)}, sum_type(x.dtype()), x.device());
  kernels_of(x).rms_norm(y, rstd, sum, x2, rows(residual), w, eps);
  return record2(Op::add_rms_norm, sum.view_reshape(x.shape()), y.view_reshape(x.shape()), {&x, &residual, &weight},
                 {&sum, &w}, [sum, w, rstd, shape = x.shape()](const Tensor&, Grads& g) {
                   pass_to_both(g, shape, [&](const Tensor& dy, const Tensor& d, double beta) {
                     rms_norm_grads(sum, w, rstd, dy, d.view_reshape(sum.shape()), beta, g, 2);
                   });
                 });
}

}  // namespace pg
